import Foundation
import FoundationObjects

/// One call of ``CBORDecoder``: two words without reference counting, because the standard library copies a keyed
/// container for every value. The state is reused by later calls; a container kept for too long detects that, and
/// throws.
struct CBORDecodingSession: BitwiseCopyable {
  private let cell: CBORCell<CBORDecodingState>
  /// The number of this call among those that use the state.
  private let call: UInt32

  /// Validates the bytes as the document of a call, which lasts until ``close()``.
  static func open(
    _ bytes: CBORBytes, _ options: CBORDecoder
  ) throws(CBORError) -> CBORDecodingSession {
    let cell = spares.take() ?? CBORCell(CBORDecodingState())
    let session = CBORDecodingSession(cell: cell, call: cell.value.call)
    do throws(CBORError) {
      try cell.value.open(bytes, options)
    } catch {
      session.close()
      throw error
    }
    return session
  }

  private static let spares = CBORSpares<CBORCell<CBORDecodingState>>()

  /// Ends the call. The caller owns the document's bytes.
  func close() {
    state.close()
    Self.spares.put(cell)
  }

  @inline(__always) var state: CBORDecodingState {
    _read { yield cell.value }
    nonmutating _modify { yield &cell.value }
  }

  @inline(__always) var isOpen: Bool { state.call == call }
  @inline(__always) var document: CBORDocument { state.document }
  var userInfo: [CodingUserInfoKey: Any] { isOpen ? state.userInfo : [:] }

  @inline(__always) var path: CBORCodingPath {
    _read { yield cell.value.path }
    nonmutating _modify { yield &cell.value.path }
  }

  /// The keys from the root; empty after the call.
  func keys(to path: CBORCodingPath.Reference) -> [any CodingKey] { isOpen ? self.path.keys(to: path) : [] }

  /// - Throws: `DecodingError.dataCorrupted` after the call.
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
  func skip(_ position: inout CBORPosition) { document.skip(&position, state.tape) }

  /// Moves from an array's or map's head to its contents. Returns the number of elements or pairs.
  @inline(__always)
  func enter(_ position: inout CBORPosition) -> Int { document.enter(&position, state.tape) }

  @inline(__always)
  func isNil(_ position: CBORPosition) -> Bool {
    var position = position
    document.skipTags(&position)
    return document.initialByte(position) & 0xFE == 0xF6
  }

  // MARK: Values

  @inline(__always)
  func value<T: Decodable>(_ type: T.Type, at position: CBORPosition, path: CBORCodingPath.Reference) throws -> T {
    if let failure = state.nesting.check(self.path.depth(of: path)) { throw depthError(path, failure) }
    return try type.init(from: CBORValueDecoder(session: self, position: position, path: path))
  }

  /// The path of a nested container, whose end is unknown.
  func nestedPath(_ key: some CodingKey, under parent: CBORCodingPath.Reference) throws -> CBORCodingPath.Reference {
    try checkOpen()
    let path = path.push(copying: key, under: parent)
    if let failure = state.nesting.check(self.path.depth(of: path)) { throw depthError(path, failure) }
    return path
  }

  private func depthError(_ path: CBORCodingPath.Reference, _ failure: Nesting.Failure) -> DecodingError {
    .dataCorrupted(
      .init(
        codingPath: self.path.keys(to: path),
        debugDescription: """
          \(state.nesting.description(failure)). If the source is trusted, raise maximumDepth, or decode on a thread with a \
          larger stack.
          """))
  }

  /// - Throws: `typeMismatch` or `valueNotFound` unless there is an array or a map at `position`, which is moved to its
  ///   head.
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

struct CBORDecodingState: ~Copyable {
  /// Changes when a call ends. Wraps after 2^32 calls, which could confuse only a container kept for exactly that long.
  private(set) var call: UInt32 = 0
  private(set) var document = CBORDocument(bytes: .none)
  private(set) var tape = CBORTape()
  private(set) var userInfo: [CodingUserInfoKey: Any] = [:]
  var path = CBORCodingPath()
  var nesting = Nesting(maximumDepth: 0)
  /// The document, if it was rewritten.
  private var definite: CBORWriter?
  /// The search position in maps, by depth.
  private var searches = CBORStack<CBORCell<CBORMapSearch>>(capacity: 8)
  /// Indexes of large maps, by the map's offset.
  var indexes: [UInt32: CBORMapIndex] = [:]
  /// A failure where throwing was impossible.
  var failure: DecodingError?
  private var lastSerial: UInt64 = 0

  /// The largest tape kept for the next call.
  private static let largestSpareTape = 4096

  mutating func open(_ bytes: CBORBytes, _ options: CBORDecoder) throws(CBORError) {
    if !options.userInfo.isEmpty { userInfo = options.userInfo }
    nesting = Nesting(maximumDepth: options.maximumDepth)
    // A value at the last level may itself be arrays and tags: a decimal fraction with a bignum.
    let scanDepth = min(options.maximumDepth, .max - 4) + 4
    document = CBORDocument(bytes: bytes)
    if try CBORScanner.scan(bytes, maximumDepth: scanDepth, into: &tape) {
      var writer = CBORWriter(capacity: bytes.count)
      try CBORDefiniteForm.write(bytes, tape, to: &writer, limit: options.longestDocument)
      // The writer is final, so its bytes stay in place.
      document = CBORDocument(bytes: writer.withBytes { bytes in bytes })
      definite = consume writer
      _ = try CBORScanner.scan(document.bytes, maximumDepth: scanDepth, into: &tape)
    }
  }

  mutating func close() {
    call &+= 1
    document = CBORDocument(bytes: .none)
    definite = nil
    path.removeAll()
    if failure != nil { failure = nil }
    if !userInfo.isEmpty { userInfo = [:] }
    if !indexes.isEmpty { indexes = [:] }
    if tape.capacity > Self.largestSpareTape { tape = CBORTape() }
  }

  /// The search shared by successive maps of a depth.
  @inline(__always)
  mutating func search(depth: Int) -> CBORCell<CBORMapSearch> {
    while searches.count <= depth { searches.append(CBORCell(CBORMapSearch())) }
    return searches[depth]
  }

  @inline(__always)
  mutating func nextSerial() -> UInt64 {
    lastSerial &+= 1
    return lastSerial
  }
}

/// Why an item is not a value of the requested type. Callers add the path.
enum CBORValueError: Error {
  case null
  /// Another type: its name with an article, and the expected type if not the requested one.
  case mismatch(String, expected: Any.Type? = nil)
  /// The right type, but an invalid value.
  case corrupted(String)
  /// An unknown form, left to the type's own conformance.
  case otherForm

  func decodingError(_ type: Any.Type, _ path: [any CodingKey]) -> DecodingError {
    switch self {
    case .null:
      .valueNotFound(
        type,
        .init(
          codingPath: path,
          debugDescription: "Cannot get value of type \(type) -- found null value instead. Decode an optional."))
    case .mismatch(let found, let expected):
      .typeMismatch(
        expected ?? type,
        .init(codingPath: path, debugDescription: "Expected to decode \(expected ?? type) but found \(found) instead."))
    case .otherForm:
      CBORValueError.mismatch("another form").decodingError(type, path)
    case .corrupted(let description):
      .dataCorrupted(.init(codingPath: path, debugDescription: description))
    }
  }
}

extension CBORHead {
  var typeDescription: String {
    switch major {
    case .unsigned, .negative: return "an integer"
    case .bytes: return "a byte string"
    case .text: return "a string"
    case .array: return "an array"
    case .map: return "a map"
    case .tag: return argument <= CBORTag.negativeBignum ? "a large integer" : "a tagged item"
    case .simple: break
    }
    if isFloat { return "a floating-point number" }
    if isNil { return "null" }
    return argument == 20 || argument == 21 ? "a boolean" : "a simple value"
  }

  var mismatch: CBORValueError { isNil ? .null : .mismatch(typeDescription) }
}
