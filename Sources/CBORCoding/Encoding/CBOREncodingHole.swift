/// A gap in a buffer for a container that has a buffer of its own.
struct CBOREncodingHole {
  /// The value in which the gap is.
  let owner: UInt64
  /// Where in the buffer.
  let offset: Int
  let kind: CBOREncodingFrame.Kind
  var buffer: CBOREncodingBuffer
  /// Of the container.
  let serial: UInt64
}

/// The key of an entry in one of the values that are being encoded. By bytes: strings that Swift takes for equal can be two
/// keys.
struct CBOREncodingName: Hashable {
  private let owner: UInt64
  private let utf8: [UInt8]

  init(_ owner: UInt64, _ utf8: UnsafeRawBufferPointer) {
    self.owner = owner
    self.utf8 = Array(utf8)
  }
}
