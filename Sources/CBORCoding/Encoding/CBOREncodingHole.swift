/// A gap in a buffer for a container that has a buffer of its own.
struct CBOREncodingHole {
  /// The value in which the gap is.
  let owner: UInt64
  /// Where in the buffer.
  let offset: Int
  /// The key of the entry, or `nil` in an array.
  let name: String?
  let kind: CBOREncodingFrame.Kind
  var buffer: CBOREncodingBuffer
  /// Of the container.
  let serial: UInt64

  /// What finds a nested container again, if it is asked for twice. By bytes: strings that Swift takes for equal can
  /// be two keys.
  struct Name: Hashable {
    let owner: UInt64
    let utf8: [UInt8]

    init(_ owner: UInt64, _ name: String) {
      self.owner = owner
      utf8 = Array(name.utf8)
    }
  }
}
