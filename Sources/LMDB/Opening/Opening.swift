import CXXHash
package import Platform

// Shared by everything that keeps an environment in a directory: LMDB trusts its map, so a data file that may be damaged
// is verified first, and a mark beside it says which state of it is known to be sound.

/// Identifies a data file and its last write.
package struct DataFileState: Equatable, Sendable {
  fileprivate static let count = 6
  private static let metaLength = 512

  /// Device, inode, size, modification and change times in nanoseconds, and a hash of the beginnings of both meta pages,
  /// which hold the last transaction's number.
  fileprivate let words: [UInt64]

  package var size: UInt64 { words[2] }

  fileprivate init(words: [UInt64]) { self.words = words }

  /// Returns `nil` if the file is missing or too short for a database.
  package init?(in directory: Directory) throws(SystemError) {
    guard let file = try directory.open(EnvironmentFiles.dataName) else { return nil }
    let status = try file.status()
    var first = [UInt8](repeating: 0, count: Self.metaLength)
    var second = first
    guard try file.read(&first) else { return nil }
    // The first page gives the second one's offset: `mm_psize`.
    let pageSize = unsafe Int(first.span.bytes.load(at: 40, as: UInt32.self))
    guard pageSize >= Self.metaLength, try file.read(&second, at: pageSize) else { return nil }
    words = [
      status.identity.device, status.identity.inode, UInt64(status.size),
      // Both times, because the first can be set to any value.
      UInt64(bitPattern: status.modified), UInt64(bitPattern: status.changed), hash(first + second),
    ]
  }

  package func isSameFile(as other: DataFileState) -> Bool { words[..<2] == other.words[..<2] }
}

/// The contents of a file that records a state in which the data file was sound.
///
/// It identifies the file it describes, so it proves nothing about another, and opening need not remove it.
///
///     offset  bytes, numbers little-endian
///          0      8  magic: whose directory it is
///          8      4  version of this layout
///         12      2  of the owner
///         14      2  0
///         16     16  boot identifier
///         32     48  state of the data file; zeros: none is known to be sound
///         80      8  XXH3 of the bytes before it
package struct DataFileMark: Sendable {
  package static let size = 88
  private static let version: UInt64 = 2

  /// Two bytes of the owner's.
  package let flags: [UInt8]
  package let boot: BootIdentifier
  package let state: DataFileState?

  package init(flags: [UInt8], state: DataFileState?) { self.init(flags: flags, boot: .current, state: state) }

  private init(flags: [UInt8], boot: BootIdentifier, state: DataFileState?) {
    self.flags = flags
    self.boot = boot
    self.state = state
  }

  package enum Reading {
    case mark(DataFileMark)
    /// Nothing, or what a power cut leaves of a new file.
    case empty
    case newerVersion
    /// Changed, or written in part.
    case torn
    /// Another program's file.
    case foreign
  }

  package static func read(_ file: borrowing File, magic: [UInt8]) throws(SystemError) -> Reading {
    let length = try file.status().size
    if length == 0 { return .empty }
    var bytes = [UInt8](repeating: 0, count: size)
    guard try file.read(&bytes) else {
      // Cut off, or an older, shorter mark.
      var start = [UInt8](repeating: 0, count: magic.count)
      return try file.read(&start) && start == magic ? .torn : .foreign
    }
    guard bytes.starts(with: magic) else {
      return length == size && bytes.allSatisfy { $0 == 0 } ? .empty : .foreign
    }
    func number(_ offset: Int, _ count: Int = 8) -> UInt64 {
      bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    if number(8, 4) > version { return .newerVersion }
    guard number(80) == hash(Array(bytes[..<80])) else { return .torn }
    let words = (0..<DataFileState.count).map { number(32 + 8 * $0) }
    return .mark(
      DataFileMark(
        flags: Array(bytes[12..<14]), boot: BootIdentifier(high: number(16), low: number(24)),
        state: words.allSatisfy { $0 == 0 } ? nil : DataFileState(words: words)))
  }

  /// Writes the mark in place with one call. Two simultaneous writers leave one of the marks, or a torn one.
  package func write(to file: borrowing File, magic: [UInt8]) throws(SystemError) {
    var bytes = magic
    func append(_ number: UInt64, _ count: Int = 8) {
      bytes += (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    append(Self.version, 4)
    bytes += flags + [0, 0]
    append(boot.high)
    append(boot.low)
    for word in state?.words ?? [UInt64](repeating: 0, count: DataFileState.count) { append(word) }
    append(hash(bytes))
    try file.write(bytes, at: 0)
  }
}

private func hash(_ bytes: [UInt8]) -> UInt64 {
  unsafe bytes.withUnsafeBytes { unsafe cxxhash_64($0.baseAddress, $0.count, 0) }
}

extension DataFileVerifier {
  /// Checks a file that others have verified and may be writing: no page in use may be past its end.
  package static func verifyBesideWriters(directory: String) throws(DataFileError) {
    // An intact header is enough, even while others commit constantly.
    if try checkMeta(directory: directory)?.isWhole != false { return }
    _ = try betweenCommits(directory) { () throws(DataFileError) in
      // Free pages at the end may be missing from the file. Only a full read shows whether they are free.
      guard let meta = try checkMeta(directory: directory), !meta.isWhole else { return nil }
      return try unsafe verify(directory: directory)
    }
  }

  /// The result of a look that no commit interrupted; `nil` if others commit constantly, which takes a readable file.
  package static func betweenCommits(
    _ directory: String, _ look: () throws(DataFileError) -> VerifiedDataFile?
  ) throws(DataFileError) -> VerifiedDataFile? {
    for _ in 0..<8 {
      let before = try checkMeta(directory: directory)
      let result: Result<VerifiedDataFile?, DataFileError>
      do throws(DataFileError) { result = .success(try look()) } catch { result = .failure(error) }
      let after = try checkMeta(directory: directory)
      if before?.transactionID == after?.transactionID { return try result.get() }
    }
    return nil
  }
}
