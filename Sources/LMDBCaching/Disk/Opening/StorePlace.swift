import LMDB
import Platform

struct StorePlace: Sendable {
  var directory: Directory
  var processLock: ProcessLock
  /// The greatest size seen for the database file, which LMDB never shrinks.
  var dataSize: Int
}

/// The files that are no longer where the store opened them.
struct StoreDisplacement: OptionSet {
  let rawValue: Int

  /// The directory was unlinked.
  static let directory = StoreDisplacement(rawValue: 1)
  static let data = StoreDisplacement(rawValue: 2)
  static let lockFile = StoreDisplacement(rawValue: 4)
  static let processLock = StoreDisplacement(rawValue: 8)
  static let journal = StoreDisplacement(rawValue: 16)
  /// The database file is in place, but shorter than before.
  static let isTruncated = StoreDisplacement(rawValue: 32)

  var names: String {
    let names: [(StoreDisplacement, String)] = [
      (.directory, "directory"), (.data, CacheDirectory.dataName), (.lockFile, CacheDirectory.lockName),
      (.processLock, ProcessLock.name), (.journal, "journal"), (.isTruncated, "\(CacheDirectory.dataName) truncated"),
    ]
    return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
  }
}

/// The open files of a store that are no longer in place.
struct DisplacedFiles {
  let files: EnvironmentFiles
  let displacement: StoreDisplacement
  /// Its process lock, if that is in place.
  let processLock: ProcessLock?
  /// The identifier of its journal, if any.
  let journal: UInt64?
  /// The base of its stamps (``StampClock``).
  let stampBase: UInt64
}
