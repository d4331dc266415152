import Foundation

/// What the decoders and containers of one call of ``CBORDecoder`` share.
final class CBORDecodingSession {
  // Unchecked: no access to these is under way while another begins, and a check would cost as much as the access.
  @exclusivity(unchecked) private(set) var document = CBORDocument(UnsafeRawBufferPointer(start: nil, count: 0))
  @exclusivity(unchecked) private(set) var tape = CBORTape()
  @exclusivity(unchecked) var path = CBORCodingPath()
  /// Whether the document's bytes are there. They are the caller's, and go when the call returns; a container that
  /// somebody has kept may still be there then.
  @exclusivity(unchecked) private(set) var isOpen = false
  @exclusivity(unchecked) private(set) var userInfo: [CodingUserInfoKey: Any] = [:]
  @exclusivity(unchecked) private var nesting = CBORNesting(maximumDepth: 0)
  /// The document, if it had to be rewritten.
  @exclusivity(unchecked) private var definite: CBORWriter?
  /// Readers of maps that were used, by the depth of the map, to be used again if nobody holds them any more.
  @exclusivity(unchecked) private var readers: [CBORMapReader?] = Array(repeating: nil, count: 16)
  /// How many of them there may be.
  @exclusivity(unchecked) private var readerCount = 0

  private static let spares = CBORSpares<CBORDecodingSession>(limit: 8)

  private init() {}

  static func take() -> CBORDecodingSession { spares.take() ?? CBORDecodingSession() }

  /// Checks the bytes, and takes them for the document until ``close()``.
  func open(_ bytes: UnsafeRawBufferPointer, _ options: CBORDecoder) throws(CBORError) {
    userInfo = options.userInfo
    nesting = CBORNesting(maximumDepth: options.maximumDepth)
    document = CBORDocument(bytes)
    if try CBORScanner.scan(bytes, maximumDepth: scanDepth, into: &tape) {
      var writer = CBORWriter(capacity: bytes.count)
      try CBORDefiniteForm.write(bytes, tape, to: &writer)
      // The writer is not written to any more, so that its bytes stay where they are.
      document = CBORDocument(writer.withBytes { bytes in bytes })
      definite = consume writer
      _ = try CBORScanner.scan(document.bytes, maximumDepth: scanDepth, into: &tape)
    }
    isOpen = true
  }

  /// A value that takes the last level may itself be some arrays and tags: a decimal fraction with a bignum.
  private var scanDepth: Int { nesting.maximumDepth + 4 }

  /// Lets go of the document, and of this session unless somebody still holds it.
  static func close(_ session: inout CBORDecodingSession) {
    session.isOpen = false
    session.document = CBORDocument(UnsafeRawBufferPointer(start: nil, count: 0))
    session.definite = nil
    session.userInfo = [:]
    session.path.removeAll()
    session.endReaders()
    if session.tape.capacity <= 4096 { spares.put(&session) }
  }

  /// A reader of the map at `position`.
  @inline(__always)
  func mapReader(at position: CBORPosition, path: CBORCodingPath.Reference) throws -> CBORMapReader {
    var position = position
    try requireContainer(.map, [String: Any].self, at: &position, path)
    let depth = self.path.depth(of: path)
    if depth < readers.count, isKnownUniquelyReferenced(&readers[depth]), let reader = readers[depth] {
      reader.begin(self, at: position, path: path)
      return reader
    }
    return anotherMapReader(at: position, path, depth)
  }

  @inline(never)
  private func anotherMapReader(
    at position: CBORPosition, _ path: CBORCodingPath.Reference, _ depth: Int
  ) -> CBORMapReader {
    let reader = CBORMapReader()
    reader.begin(self, at: position, path: path)
    if depth < readers.count {
      readers[depth] = reader
      readerCount = max(readerCount, depth + 1)
    }
    return reader
  }

  /// Keeps the readers that nobody else holds. They must not hold this session, which would keep itself alive then.
  private func endReaders() {
    for index in 0..<readerCount {
      if isKnownUniquelyReferenced(&readers[index]) { readers[index]?.end() } else { readers[index] = nil }
    }
  }

  /// - Throws: `DecodingError.dataCorrupted` after the call is over.
  @inline(__always)
  func checkOpen() throws {
    guard isOpen else { throw closedError }
  }

  private var closedError: DecodingError {
    .dataCorrupted(
      .init(
        codingPath: [],
        debugDescription: """
          A decoder or container was used after decode(_:from:) had returned. Use it in the init(from:) only that \
          asked for it.
          """))
  }

  // MARK: Positions

  @inline(__always)
  func skip(_ position: inout CBORPosition) { document.skip(&position, tape) }

  @inline(__always)
  func isNil(_ position: CBORPosition) -> Bool {
    var position = position
    document.skipTags(&position)
    return document.initialByte(position) & 0xFE == 0xF6
  }

  // MARK: Values

  /// Makes a value of any type of what is at `position`, by asking the type.
  @inline(__always)
  func value<T: Decodable>(_ type: T.Type, at position: CBORPosition, path: CBORCodingPath.Reference) throws -> T {
    if let failure = nesting.check(self.path.depth(of: path)) { throw depthError(path, failure) }
    return try type.init(from: CBORValueDecoder(session: self, position: position, path: path))
  }

  /// The path of a container within another, which nobody tells when it is done with.
  func nestedPath(_ key: some CodingKey, under parent: CBORCodingPath.Reference) throws -> CBORCodingPath.Reference {
    let path = self.path.push(copying: key, under: parent)
    if let failure = nesting.check(self.path.depth(of: path)) { throw depthError(path, failure) }
    return path
  }

  private func depthError(_ path: CBORCodingPath.Reference, _ failure: CBORNesting.Failure) -> DecodingError {
    .dataCorrupted(
      .init(
        codingPath: self.path.keys(to: path),
        debugDescription: """
          \(nesting.description(failure)). If the source is trusted, raise maximumDepth, or decode on a thread with a \
          larger stack.
          """))
  }

  /// - Throws: `typeMismatch` or `valueNotFound` unless there is an array or a map at `position`; which is then that
  ///   of the head.
  @inline(__always)
  func requireContainer(
    _ major: CBORMajorType, _ type: Any.Type, at position: inout CBORPosition,
    _ path: CBORCodingPath.Reference
  ) throws {
    try checkOpen()
    document.skipTags(&position)
    var content = position
    let head = document.readHead(&content)
    guard head.major == major else {
      guard head.isNil else { throw head.mismatch.decodingError(type, self.path.keys(to: path)) }
      let kind = major == .map ? "keyed" : "unkeyed"
      throw DecodingError.valueNotFound(
        type,
        .init(
          codingPath: self.path.keys(to: path),
          debugDescription: "Cannot get \(kind) decoding container -- found null value instead. Decode an optional."))
    }
  }
}
