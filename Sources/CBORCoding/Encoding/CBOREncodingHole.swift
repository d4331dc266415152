/// A gap in a buffer for a container with a separate buffer.
struct CBOREncodingHole {
  /// The serial of the value with the gap.
  let owner: UInt64
  let offset: Int
  let kind: CBOREncodingFrame.Kind
  var buffer: CBOREncodingBuffer
  let serial: UInt64
}

/// An entry's key in a value being encoded. Compared by bytes: strings that are equal in Swift can be two keys.
struct CBOREncodingName: Hashable {
  private let owner: UInt64
  private let utf8: [UInt8]

  init(_ owner: UInt64, _ utf8: UnsafeRawBufferPointer) {
    self.owner = owner
    self.utf8 = Array(utf8)
  }
}
