import Foundation
import FoundationObjects

struct CBORDecodingState: ~Copyable {
  /// Changes when a call ends. Wraps after 2^32 calls, which could confuse only a container kept for exactly that long.
  private(set) var call: UInt32 = 0
  private(set) var document = CBORDocument(UnsafeRawBufferPointer(start: nil, count: 0))
  private(set) var tape = CBORTape()
  private(set) var userInfo: [CodingUserInfoKey: Any] = [:]
  var path = CBORCodingPath()
  var nesting = Nesting(maximumDepth: 0)
  /// The document, if it was rewritten.
  private var definite: CBORWriter?
  /// The search position in maps, by depth. Never freed, like this state.
  private var searches = CBORStack<UnsafeMutablePointer<CBORMapSearch>>(capacity: 8)
  /// Indexes of large maps, by the map's offset.
  var indexes: [UInt32: CBORMapIndex] = [:]
  /// A failure where throwing was impossible.
  var failure: DecodingError?
  private var lastSerial: UInt64 = 0

  /// The largest tape kept for the next call.
  private static let largestSpareTape = 4096

  private static let spares = CBORSpares<UnsafeMutablePointer<CBORDecodingState>>()

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
    // A value at the last level may itself be arrays and tags: a decimal fraction with a bignum.
    let scanDepth = min(options.maximumDepth, .max - 4) + 4
    document = CBORDocument(bytes)
    if try CBORScanner.scan(bytes, maximumDepth: scanDepth, into: &tape) {
      var writer = CBORWriter(capacity: bytes.count)
      try CBORDefiniteForm.write(bytes, tape, to: &writer, limit: options.longestDocument)
      // The writer is final, so its bytes stay in place.
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

  /// The search shared by successive maps of a depth.
  @inline(__always)
  mutating func search(depth: Int) -> UnsafeMutablePointer<CBORMapSearch> {
    while searches.count <= depth {
      let search = UnsafeMutablePointer<CBORMapSearch>.allocate(capacity: 1)
      search.initialize(to: CBORMapSearch())
      searches.append(search)
    }
    return searches[depth]
  }

  @inline(__always)
  mutating func nextSerial() -> UInt64 {
    lastSerial &+= 1
    return lastSerial
  }
}
