import Foundation
import FoundationObjects

/// One call of ``CBORDecoder``, for the decoders and containers that it hands out.
///
/// It is two words that are copied and compared for nothing, where a reference would be counted: the standard library
/// copies a keyed container for every value that is decoded from it. What it points to is never freed, but used by
/// one call after another; so a container that somebody keeps for longer than it is good for finds another call
/// there, and throws.
struct CBORDecodingSession: BitwiseCopyable {
  let state: UnsafeMutablePointer<CBORDecodingState>
  /// Which call this is of those that use the state.
  private let call: UInt32

  /// Checks the bytes, and takes them for the document of a call until ``close()``.
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

  /// Ends the call. The document's bytes are the caller's, and go with it.
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

  /// The keys from the root; none after the call is over.
  func keys(to path: CBORCodingPath.Reference) -> [any CodingKey] { isOpen ? self.path.keys(to: path) : [] }

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
  func skip(_ position: inout CBORPosition) { document.skip(&position, state.pointee.tape) }

  /// Moves from the head of an array or map to what is in it; how many elements or pairs that is.
  @inline(__always)
  func enter(_ position: inout CBORPosition) -> Int { document.enter(&position, state.pointee.tape) }

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
    if let failure = state.pointee.nesting.check(self.path.depth(of: path)) { throw depthError(path, failure) }
    return try type.init(from: CBORValueDecoder(session: self, position: position, path: path))
  }

  /// The path of a container within another, which nobody tells when it is done with.
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
