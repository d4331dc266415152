extension CBOREncodingBuffer {
  /// The most bytes that a buffer keeps for the next value.
  static let largestSpare = 1 << 16

  private static let spares = CBORSpares<CBOREncodingBuffer>(limit: 8)

  /// A buffer for a value that is not within another, with a session of its own.
  static func take() -> CBOREncodingBuffer { spares.take() ?? CBOREncodingBuffer(CBOREncodingSession()) }

  /// Gives back what ``take()`` gave, unless a container that somebody keeps still holds it.
  static func end(_ buffer: inout CBOREncodingBuffer) {
    buffer.abandon()
    buffer.session.end()
    // Taken back only if nobody else holds it.
    if buffer.writer.capacity <= largestSpare, isKnownUniquelyReferenced(&buffer) { spares.put(buffer) }
  }

  /// Encodes the value that is not within another.
  func encodeRoot<T: Encodable>(_ value: T, _ options: CBOREncoder) throws {
    session.begin(options)
    begin(path: CBORCodingPath.root, .none)
    let leaf = CBORLeaf.of(T.self)
    if leaf != .none { return write(leaf, value) }
    try value.encode(to: CBORValueEncoder(buffer: self, serial: top.serial))
    if let failure = session.failure { throw error(failure, value) }
    guard !isEmpty else {
      throw EncodingError.invalidValue(
        value,
        .init(
          codingPath: [],
          debugDescription: "Top-level \(T.self) did not encode any values. Let its encode(to:) ask for a container."))
    }
    sortElements(of: T.self)
    finish()
  }
}
