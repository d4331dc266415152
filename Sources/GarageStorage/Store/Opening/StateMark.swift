import Platform

/// The file that says as of which state the garage's data file was sound: written after a verification, after each commit
/// and when the garage is closed.
///
/// It says nothing about any other state: a commit, a copy, another file in the place of the one it knows make it void. So
/// it is not removed when the garage is opened, and what it says can only be too little. Whoever has the garage open
/// holds a shared lock of it.
///
///     offset  bytes, numbers little-endian
///          0      8  "LMDBGSM1"
///          8      4  version of this layout
///         12      4  1 if the garage was made, so that its data file has to be there; 0 while it is being made
///         16     48  the state of the data file; zeros: no state is known to be sound
///         64      8  the first bytes of SHA-256 of what is before
struct StateMark: Equatable {
  static let name = "garage-state"
  private static let magic = Array("LMDBGSM1".utf8)
  private static let version: UInt32 = 1
  private static let size = 72
  private static let stateOffset = 16
  private static let digestOffset = 64

  /// Whether the garage's own record was committed once.
  var isMade: Bool
  var state: DataFileState?

  enum Reading: Equatable {
    case mark(StateMark)
    /// Nothing was written yet.
    case void
    case newerVersion
    /// The file is of somebody else.
    case foreign
  }

  static func read(_ file: borrowing File) throws(SystemError) -> Reading {
    let length = try file.status().size
    guard length > 0 else { return .void }
    var bytes = [UInt8](repeating: 0, count: size)
    guard try file.read(&bytes) else { return .foreign }
    guard bytes.starts(with: magic) else {
      // Zeros are what a power cut leaves of a file that was just made.
      return length == size && bytes.allSatisfy { $0 == 0 } ? .void : .foreign
    }
    if UInt32(number(bytes[8..<12])) > version { return .newerVersion }
    guard number(bytes[digestOffset...]) == ContentDigest.word(of: Array(bytes[..<digestOffset])) else {
      // Of a garage that is being made there is little to be torn: this is one that was made.
      return .mark(StateMark(isMade: true, state: nil))
    }
    let words = (0..<DataFileState.count).map { number(bytes[stateOffset + 8 * $0..<stateOffset + 8 * $0 + 8]) }
    return .mark(
      StateMark(
        isMade: number(bytes[12..<16]) == 1,
        state: words.allSatisfy { $0 == 0 } ? nil : DataFileState(words: words)))
  }

  /// Writes the mark in place and at once: two processes that write it together leave one of the two, or a void one.
  func write(to file: borrowing File) throws(SystemError) {
    var bytes = Self.magic + Self.bytes(UInt64(Self.version), 4) + Self.bytes(isMade ? 1 : 0, 4)
    for word in state?.words ?? [UInt64](repeating: 0, count: DataFileState.count) { bytes += Self.bytes(word, 8) }
    bytes += Self.bytes(ContentDigest.word(of: bytes), 8)
    try file.write(bytes, at: 0)
  }

  private static func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
