import LMDB
import Platform

/// Where a store's files were when it opened them.
struct StorePlace: Sendable {
  var directory: Directory
  var processLock: ProcessLock
  /// The greatest size of the database's file that was seen: LMDB never makes it smaller.
  var dataSize: Int
}

/// What is not where it was any more.
struct StoreDisplacement: OptionSet {
  let rawValue: Int

  /// The directory has no name any more.
  static let directory = StoreDisplacement(rawValue: 1)
  static let data = StoreDisplacement(rawValue: 2)
  static let lockFile = StoreDisplacement(rawValue: 4)
  static let processLock = StoreDisplacement(rawValue: 8)
  static let journal = StoreDisplacement(rawValue: 16)
  /// The database's file is there, and shorter than it was.
  static let isTruncated = StoreDisplacement(rawValue: 32)

  /// For the log.
  var names: String {
    let names: [(StoreDisplacement, String)] = [
      (.directory, "directory"), (.data, CacheDirectory.dataName), (.lockFile, CacheDirectory.lockName),
      (.processLock, ProcessLock.name), (.journal, "journal"), (.isTruncated, "\(CacheDirectory.dataName) truncated"),
    ]
    return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
  }
}

/// What a store has open that is not in its place.
struct DisplacedFiles {
  let files: EnvironmentFiles
  let displacement: StoreDisplacement
  /// Its lock, if that is in its place.
  let processLock: ProcessLock?
  /// The identifier of its journal, if it has one.
  let journal: UInt64?
  /// Of the stamps that it makes: see ``StampClock``.
  let stampBase: UInt64
}
