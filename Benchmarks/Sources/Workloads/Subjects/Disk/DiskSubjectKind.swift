import Foundation
import LMDBCaching

/// A store in one configuration.
struct DiskSubjectKind: Sendable {
  let name: String
  /// The most small values that a slow store writes one by one in a round.
  var mostWrites = Int.max
  /// The most values that a slow store is filled with before every round.
  var mostFilled = Int.max
  /// Opens the store in an existing directory, for values of this size.
  let open: @Sendable (URL, Int) throws -> any DiskSubject

  var isOwn: Bool { name.hasPrefix("LMDBCaching") }

  // MARK: The peers

  static let lmdb = DiskSubjectKind(name: "LMDB in C") { try RawLMDB($0, $1, .noSync) }
  static let lmdbSynchronized = DiskSubjectKind(name: "LMDB in C, synchronizing") { try RawLMDB($0, $1, .noMetaSync) }
  static let sqlite = DiskSubjectKind(name: "SQLite (GRDB)", mostWrites: 5000) { try SQLiteStore($0, $1) }
  static let files = DiskSubjectKind(name: "A file per key", mostWrites: 500, mostFilled: 2000) {
    try FilePerKey($0, $1)
  }

  /// Stores that may be absent.
  static let optionalNames: Set = ["RocksDB", "LevelDB"]

  /// Those that were built in; see Package.swift.
  static var optional: [DiskSubjectKind] {
    var kinds: [DiskSubjectKind] = []
    #if ROCKSDB
      kinds.append(DiskSubjectKind(name: "RocksDB", mostWrites: 50_000) { try RocksDBStore($0, $1) })
    #endif
    #if LEVELDB
      kinds.append(DiskSubjectKind(name: "LevelDB", mostWrites: 50_000) { try LevelDBStore($0, $1) })
    #endif
    return kinds
  }

  // MARK: Ours

  static func diskCache(
    _ name: String = "LMDBCaching, disk only", reads: OwnDiskCache.Reads = .data, commits: Bool = false,
    durability: Durability = .ordered
  ) -> DiskSubjectKind {
    DiskSubjectKind(name: name) { directory, size in
      try OwnDiskCache(directory, size, reads: reads, commits: commits, durability: durability)
    }
  }

  static let cache = DiskSubjectKind(name: "LMDBCaching.LMDBCache") { directory, _ in try OwnTieredCache(directory) }
}
