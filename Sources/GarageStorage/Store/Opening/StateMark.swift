import Platform

/// A file that records a state in which the garage's data file was sound. Written after a verification, after each
/// commit, and on close.
///
/// A commit, a copy or a replaced file invalidates it, so it stays in place while the garage is open, and never claims
/// too much. Users of the garage hold a shared lock of it.
///
///     offset  bytes, numbers little-endian
///          0      8  "LMDBGSM1"
///          8      4  version of this layout
///         12      4  1 if the data file must exist; 0 while the garage is being created
///         16     48  the state of the data file; zeros: no state is known to be sound
///         64      8  the first bytes of SHA-256 of the preceding bytes
struct StateMark: Equatable {
  static let name = "garage-state"
  private static let magic = Array("LMDBGSM1".utf8)
  private static let version: UInt32 = 1
  private static let size = 72
  private static let stateOffset = 16
  private static let digestOffset = 64

  /// Whether the garage's own record has been committed.
  var isMade: Bool
  var state: DataFileState?

  enum Reading: Equatable {
    case mark(StateMark)
    case void
    case newerVersion
    /// Another program's file.
    case foreign
  }

  static func read(_ file: borrowing File) throws(SystemError) -> Reading {
    let length = try file.status().size
    guard length > 0 else { return .void }
    var bytes = [UInt8](repeating: 0, count: size)
    guard try file.read(&bytes) else { return .foreign }
    guard bytes.starts(with: magic) else {
      // A power cut leaves zeros in a new file.
      return length == size && bytes.allSatisfy { $0 == 0 } ? .void : .foreign
    }
    if UInt32(number(bytes[8..<12])) > version { return .newerVersion }
    guard number(bytes[digestOffset...]) == ContentDigest.word(of: Array(bytes[..<digestOffset])) else {
      // A torn mark belongs to an existing garage: a new one has almost nothing to tear.
      return .mark(StateMark(isMade: true, state: nil))
    }
    let words = (0..<DataFileState.count).map { number(bytes[stateOffset + 8 * $0..<stateOffset + 8 * $0 + 8]) }
    return .mark(
      StateMark(
        isMade: number(bytes[12..<16]) == 1,
        state: words.allSatisfy { $0 == 0 } ? nil : DataFileState(words: words)))
  }

  /// Writes the mark in place with one call. Two simultaneous writers leave one of the marks, or a void one.
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
