extension CBOREncodingBuffer {
  /// The largest buffer kept for the next value, in bytes.
  static let largestSpare = 1 << 16

  private static let spares = CBORSpares<CBOREncodingBuffer>(limit: 8)

  /// A buffer with a new session, for the outermost value.
  static func take() -> CBOREncodingBuffer { spares.take() ?? CBOREncodingBuffer(CBOREncodingSession()) }

  /// Returns a buffer from ``take()``, unless an escaped container still holds it.
  static func end(_ buffer: inout CBOREncodingBuffer) {
    buffer.abandon()
    buffer.session.end()
    // Reused only without other references.
    if buffer.writer.capacity <= largestSpare, isKnownUniquelyReferenced(&buffer) { spares.put(buffer) }
  }

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
