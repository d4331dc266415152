import Foundation
import LMDBCaching
import TestSupport

/// A closed cache with forged files, all checksums valid.
struct ForgedCache {
  let directory = CacheDirectory()

  init() throws {
    let cache = try directory.open()
    for key in ["a", "b", "c"] { try cache.set("value of \(key)", forKey: key) }
    try cache.set("soon", forKey: "expiring", expires: .after(.seconds(3_600)))
    try cache.set("dear", forKey: "dear", cost: 1 << 40)
    try cache.set(Data(repeating: 0x61, count: 2 << 20), forKey: "large")
    try cache.close()
  }

  func forgeMetadata(_ change: (inout [UInt8]) -> Void) throws {
    try ForgedDatabase.rewrite(directory.path, ForgedField.key) { old in
      var record = old ?? []
      change(&record)
      return UntrustedBytes.sealedMetadata(record)
    }
  }

  /// Changes an entry and adjusts the totals, so that they do not reveal it.
  func forge(_ key: [UInt8], _ change: ([UInt8]?) -> [UInt8]?) throws {
    var (removed, added) = (UInt64(0), UInt64(0))
    try ForgedDatabase.rewrite(directory.path, key) { old in
      let new = change(old)
      removed = old.map { UntrustedBytes.digest(ofRecord: $0) } ?? 0
      added = new.map { UntrustedBytes.digest(ofRecord: $0) } ?? 0
      return new
    }
    try forgeMetadata { record in
      ForgedField.digest.put(ForgedField.digest.value(in: record) &- removed &+ added, into: &record)
    }
  }

  /// Uses every operation. Opening may fail with a named error; after it, the cache must work.
  static func use(_ path: String) throws -> [String] {
    let refusals = ["corruptedRecord", "damagedDatabase"]
    return try ProcessScript([
      ("open \(path)", .okUnlessRefused(refusals)),
      ("count", .natural), ("cost", .natural), ("keys", .noError), ("get a", .anything),
      ("isbig large 2097152", .anything),
      ("contains expiring", .noError),
      ("set new v", .ok), ("get new", .text("v")), ("forget", .ok), ("get new", .text("v")),
      ("flush", .ok), ("forget", .ok), ("get new", .text("v")), ("count", .natural), ("cost", .natural),
      ("write batched w", .ok), ("forget", .ok), ("get batched", .text("w")),
      ("big file 2000000", .ok), ("flush", .ok), ("forget", .ok), ("isbig file 2000000", .ok),
      ("set a mine", .ok), ("flush", .ok), ("forget", .ok), ("get a", .text("mine")),
      ("setfor brief v 3600000000000", .ok), ("remove brief", .ok), ("get brief", .text("nil")),
      ("sweep", .ok), ("trimage 3600000000000", .ok), ("trimlimits", .ok), ("count", .natural), ("cost", .natural),
      ("get new", .text("v")), ("get batched", .text("w")),
      ("close", .ok),
      ("open \(path)", .ok),
      ("get new", .text("v")), ("get batched", .text("w")), ("get a", .text("mine")), ("isbig file 2000000", .ok),
      ("count", .natural), ("cost", .natural),
      ("set new newer", .ok), ("flush", .ok), ("forget", .ok), ("get new", .text("newer")),
      // Entries from a newer version are kept.
      ("trimcost 1000", .ok), ("trimcount 1", .ok), ("count", .oneOf(["0", "1", "2"])), ("cost", .natural),
      ("removeall", .ok), ("flush", .ok), ("count", .text("0")), ("cost", .text("0")),
      ("set last v", .ok), ("flush", .ok), ("forget", .ok), ("get last", .text("v")), ("count", .text("1")),
      ("close", .ok),
      ("open \(path)", .ok), ("get last", .text("v")), ("count", .text("1")), ("close", .ok),
    ]).failures(within: 60)
  }

  func use() throws -> [String] { try Self.use(directory.path) }
}
