import Foundation
import FoundationObjects

/// What a ``CBORDecodingSession`` points to.
struct CBORDecodingState: ~Copyable {
  /// Changes when a call ends. After 2^32 calls it is the same again; a container that was kept for so long, and is
  /// used just then, is all that could be confused by that.
  private(set) var call: UInt32 = 0
  private(set) var document = CBORDocument(UnsafeRawBufferPointer(start: nil, count: 0))
  private(set) var tape = CBORTape()
  private(set) var userInfo: [CodingUserInfoKey: Any] = [:]
  var path = CBORCodingPath()
  var nesting = Nesting(maximumDepth: 0)
  /// The document, if it had to be rewritten.
  private var definite: CBORWriter?
  /// Where the search in a map is, by the depth of the map. Never freed, as this state is not.
  private var searches = CBORStack<UnsafeMutablePointer<CBORMapSearch>>(capacity: 8)
  /// The indexes of large maps, by where the map begins.
  var indexes: [UInt32: CBORMapIndex] = [:]
  /// What went wrong where nothing could be thrown.
  var failure: DecodingError?
  private var lastSerial: UInt64 = 0

  /// The largest tape that is kept for the next call.
  private static let largestSpareTape = 4096

  private static let spares = CBORSpares<UnsafeMutablePointer<CBORDecodingState>>()

  /// A state that nobody uses.
  static func take() -> UnsafeMutablePointer<CBORDecodingState> {
    if let spare = spares.take() { return spare }
    let state = UnsafeMutablePointer<CBORDecodingState>.allocate(capacity: 1)
    state.initialize(to: CBORDecodingState())
    return state
  }

  static func give(back state: UnsafeMutablePointer<CBORDecodingState>) { spares.put(state) }

  mutating func open(_ bytes: UnsafeRawBufferPointer, _ options: CBORDecoder) throws(CBORError) {
    if !options.userInfo.isEmpty { userInfo = options.userInfo }
    nesting = Nesting(maximumDepth: options.maximumDepth)
    // A value that takes the last level may itself be some arrays and tags: a decimal fraction with a bignum.
    let scanDepth = min(options.maximumDepth, .max - 4) + 4
    document = CBORDocument(bytes)
    if try CBORScanner.scan(bytes, maximumDepth: scanDepth, into: &tape) {
      var writer = CBORWriter(capacity: bytes.count)
      try CBORDefiniteForm.write(bytes, tape, to: &writer, limit: options.longestDocument)
      // The writer is not written to any more, so that its bytes stay where they are.
      document = CBORDocument(writer.withBytes { bytes in bytes })
      definite = consume writer
      _ = try CBORScanner.scan(document.bytes, maximumDepth: scanDepth, into: &tape)
    }
  }

  mutating func close() {
    call &+= 1
    document = CBORDocument(UnsafeRawBufferPointer(start: nil, count: 0))
    definite = nil
    path.removeAll()
    if failure != nil { failure = nil }
    if !userInfo.isEmpty { userInfo = [:] }
    if !indexes.isEmpty { indexes = [:] }
    if tape.capacity > Self.largestSpareTape { tape = CBORTape() }
  }

  /// The search that maps at this depth share, one after another.
  @inline(__always)
  mutating func search(depth: Int) -> UnsafeMutablePointer<CBORMapSearch> {
    while searches.count <= depth {
      let search = UnsafeMutablePointer<CBORMapSearch>.allocate(capacity: 1)
      search.initialize(to: CBORMapSearch())
      searches.append(search)
    }
    return searches[depth]
  }

  /// A number that no map had before.
  @inline(__always)
  mutating func nextSerial() -> UInt64 {
    lastSerial &+= 1
    return lastSerial
  }
}
