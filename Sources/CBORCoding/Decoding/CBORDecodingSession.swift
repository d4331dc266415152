import Foundation
import FoundationObjects

/// One call of ``CBORDecoder``, for its decoders and containers.
///
/// Two words that are copied and compared without reference counting, because the standard library copies a keyed
/// container for every value decoded from it. The state is never freed but reused by later calls; a container kept for
/// too long detects another call there, and throws.
struct CBORDecodingSession: BitwiseCopyable {
  let state: UnsafeMutablePointer<CBORDecodingState>
  /// The number of this call among those that use the state.
  private let call: UInt32

  /// Validates the bytes as the document of a call, which lasts until ``close()``.
  static func open(
    _ bytes: UnsafeRawBufferPointer, _ options: CBORDecoder
  ) throws(CBORError) -> CBORDecodingSession {
    let state = CBORDecodingState.take()
    do throws(CBORError) {
      try state.pointee.open(bytes, options)
    } catch {
      state.pointee.close()
      CBORDecodingState.give(back: state)
      throw error
    }
    return CBORDecodingSession(state: state, call: state.pointee.call)
  }

  /// Ends the call. The caller owns the document's bytes.
  func close() {
    state.pointee.close()
    CBORDecodingState.give(back: state)
  }

  @inline(__always) var isOpen: Bool { state.pointee.call == call }
  @inline(__always) var document: CBORDocument { state.pointee.document }
  var userInfo: [CodingUserInfoKey: Any] { isOpen ? state.pointee.userInfo : [:] }

  @inline(__always) var path: CBORCodingPath {
    _read { yield state.pointee.path }
    nonmutating _modify { yield &state.pointee.path }
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
  func skip(_ position: inout CBORPosition) { document.skip(&position, state.pointee.tape) }

  /// Moves from an array's or map's head to its contents. Returns the number of elements or pairs.
  @inline(__always)
  func enter(_ position: inout CBORPosition) -> Int { document.enter(&position, state.pointee.tape) }

  @inline(__always)
  func isNil(_ position: CBORPosition) -> Bool {
    var position = position
    document.skipTags(&position)
    return document.initialByte(position) & 0xFE == 0xF6
  }

  // MARK: Values

  @inline(__always)
  func value<T: Decodable>(_ type: T.Type, at position: CBORPosition, path: CBORCodingPath.Reference) throws -> T {
    if let failure = state.pointee.nesting.check(self.path.depth(of: path)) { throw depthError(path, failure) }
    return try type.init(from: CBORValueDecoder(session: self, position: position, path: path))
  }

  /// The path of a nested container, whose end is unknown.
  func nestedPath(_ key: some CodingKey, under parent: CBORCodingPath.Reference) throws -> CBORCodingPath.Reference {
    try checkOpen()
    let path = path.push(copying: key, under: parent)
    if let failure = state.pointee.nesting.check(self.path.depth(of: path)) { throw depthError(path, failure) }
    return path
  }

  private func depthError(_ path: CBORCodingPath.Reference, _ failure: Nesting.Failure) -> DecodingError {
    .dataCorrupted(
      .init(
        codingPath: self.path.keys(to: path),
        debugDescription: """
          \(state.pointee.nesting.description(failure)). If the source is trusted, raise maximumDepth, or decode on a thread with a \
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
