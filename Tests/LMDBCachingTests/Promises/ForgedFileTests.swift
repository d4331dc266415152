import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Impossible numbers in entries, journals and pages, under valid checksums: they end no process, and hide no later
/// write. `DrawnExtremeTests` draws the numbers of entries.
@Suite struct ForgedFileTests {
  struct Forgery: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let forge: @Sendable (ForgedCache) throws -> Void

    init(_ description: String, _ forge: @escaping @Sendable (ForgedCache) throws -> Void) {
      (testDescription, self.forge) = (description, forge)
    }
  }

  static let forgeries: [Forgery] = [otherKeys, journals, [sparseJournal], transactions, counts].flatMap(\.self)

  @Test(arguments: forgeries) func laterWritesAreKept(_ forgery: Forgery) throws {
    let cache = try ForgedCache()
    try forgery.forge(cache)
    // A reader must not crash either.
    _ = try? CacheReader(directory: cache.directory.url)?.figures()
    let failures = try cache.use()
    #expect(failures == [])
  }

  // MARK: Entries

  private static func record(_ key: [UInt8], stamp: UInt64 = 1, cost: Int = 10, holdsKey: Bool) -> [UInt8] {
    key.withUnsafeBytes { key in
      Array("forged".utf8).withUnsafeBytes { value in
        UntrustedBytes.record(
          of: value, format: .string, key: key, stamp: stamp, expires: 0, cost: cost, holdsKey: holdsKey)
      }
    }
  }

  /// Records under keys other than their own, and under invalid UTF-8.
  private static let otherKeys: [Forgery] = [0, 511, 512, 70_000].map { length in
    Forgery("a record of a key of \(length) bytes under others") { cache in
      let other = [UInt8](repeating: 0x6B, count: length)
      for key in [[0xFE], [0xFE] + [UInt8](repeating: 0x6B, count: 510), [0xC3], Array("a".utf8)] as [[UInt8]] {
        try cache.forge(key) { _ in record(other, holdsKey: true) }
      }
    }
  }

  // MARK: Journals

  typealias Frame = (operation: UInt8, key: [UInt8], record: [UInt8], stamp: UInt64)

  private static let barely: UInt64 = (1 << 62) - 1

  private static func put(_ key: [UInt8], _ stamp: UInt64, cost: Int = 1) -> Frame {
    (1, key, record(key, stamp: stamp, cost: cost, holdsKey: !(1...511 ~= key.count)), stamp)
  }

  private static let descending: [Frame] = (0..<20).map { put(Array("a".utf8), .max - UInt64($0) * 0x100) }

  private static func place(_ frames: [Frame], in cache: ForgedCache) {
    cache.directory.write(
      Data(UntrustedBytes.journal(frames, identifier: 7)), to: "journals/0000000000000007.journal")
  }

  private static let journals: [Forgery] =
    ([
      ("stamps that go down", descending),
      ("a long key", [put([UInt8](repeating: 0x6B, count: 10_000), 1 << 62)]),
      ("the greatest costs", (0..<5).map { put(Array("k\($0)".utf8), 1 << 62, cost: .max) }),
      (
        "every operation with the greatest stamp that there can be",
        [
          put(Array("a".utf8), barely), (2, Array("a".utf8), [], barely), (3, [], [], barely),
          (4, Array("a".utf8), [], barely), (5, [UInt8](repeating: 1, count: 8), [], barely),
        ]
      ),
      (
        "the cache's own records",
        "jmstp".utf8.flatMap { letter -> [Frame] in
          [put([0xFF, letter], 5), (2, [0xFF, letter], [], 6), (4, [0xFF, letter], [], 7)]
        }
      ),
    ] as [(String, [Frame])]).map { description, frames in
      Forgery("a journal with " + description) { place(frames, in: $0) }
    }

  private static let sparseJournal = Forgery("a sparse journal of gigabytes") { cache in
    place([put(Array("a".utf8), 1 << 62)], in: cache)
    #expect(truncate(cache.directory.path + "/journals/0000000000000007.journal", 8 << 30) == 0)
  }

  // MARK: Pages

  private static func forgePages(_ cache: ForgedCache, _ change: (_ page: Int, _ start: Int) -> (UInt64, Int)) throws {
    let url = cache.directory.url("data.mdb")
    var bytes = try Data(contentsOf: url)
    let pageSize = bytes.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: 40, as: UInt32.self)) }
    for page in 0..<2 {
      let (number, offset) = change(page, page * pageSize)
      bytes.withUnsafeMutableBytes { $0.storeBytes(of: number, toByteOffset: offset, as: UInt64.self) }
    }
    try bytes.write(to: url, options: [])
  }

  /// A file marked as sound gets no other check than of its first pages.
  private static let transactions: [Forgery] =
    [1 << 62, 1 << 63, .max].flatMap { (last: UInt64) -> [Forgery] in
      [false, true].map { isMarked in
        Forgery("transaction \(last), \(isMarked ? "" : "not ")marked as sound") { cache in
          try forgePages(cache) { page, start in (last & 1 == UInt64(page) ? last : last - 1, start + 144) }
          if isMarked { try TestingMark.write(in: cache.directory.path) }
        }
      }
    }

  /// The branch, leaf and overflow pages in the main database's record.
  private static let counts: [Forgery] = [1 << 52, .max].flatMap { (count: UInt64) -> [Forgery] in
    [8, 16, 24].map { offset in
      Forgery("\(count) pages at \(offset)") { cache in
        try forgePages(cache) { _, start in (count, start + 88 + offset) }
        try TestingMark.write(in: cache.directory.path)
      }
    }
  }
}

/// A closed cache to forge.
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

  /// Changes an entry, and the digest of all entries, so that it does not reveal it.
  func forge(_ key: [UInt8], _ change: ([UInt8]?) -> [UInt8]?) throws {
    var (removed, added) = (UInt64(0), UInt64(0))
    try ForgedDatabase.rewrite(directory.path, key) { old in
      let new = change(old)
      removed = old.map { UntrustedBytes.digest(ofRecord: $0) } ?? 0
      added = new.map { UntrustedBytes.digest(ofRecord: $0) } ?? 0
      return new
    }
    try ForgedDatabase.rewrite(directory.path, ForgedField.key) { old in
      var record = old ?? []
      ForgedField.digest.put(ForgedField.digest.value(in: record) &- removed &+ added, into: &record)
      return UntrustedBytes.sealedMetadata(record)
    }
  }

  /// Uses every operation. Opening may fail with a named error; after it, the cache must work.
  func use() throws -> [String] {
    let path = directory.path
    return try ProcessScript([
      ("open \(path)", .okUnlessRefused(["corruptedRecord", "damagedDatabase"])),
      ("count", .natural), ("cost", .natural), ("keys", .noError), ("get a", .anything),
      ("isbig large 2097152", .anything), ("contains expiring", .noError),
      ("set new v", .ok), ("forget", .ok), ("get new", .text("v")), ("write batched w", .ok),
      ("big file 2000000", .ok), ("set a mine", .ok), ("flush", .ok), ("forget", .ok), ("isbig file 2000000", .ok),
      ("get a", .text("mine")), ("setfor brief v 3600000000000", .ok), ("remove brief", .ok),
      ("get brief", .text("nil")), ("sweep", .ok), ("trimage 3600000000000", .ok), ("trimlimits", .ok),
      ("close", .ok), ("open \(path)", .ok), ("count", .natural), ("cost", .natural),
      ("get new", .text("v")), ("get batched", .text("w")), ("get a", .text("mine")), ("isbig file 2000000", .ok),
      ("set new newer", .ok), ("flush", .ok), ("forget", .ok), ("get new", .text("newer")),
      // Entries from a newer version are kept.
      ("trimcost 1000", .ok), ("trimcount 1", .ok), ("count", .oneOf(["0", "1", "2"])), ("cost", .natural),
      ("removeall", .ok), ("flush", .ok), ("count", .text("0")), ("cost", .text("0")), ("set last v", .ok),
      ("close", .ok), ("open \(path)", .ok), ("get last", .text("v")), ("count", .text("1")), ("close", .ok),
    ]).failures(within: 60)
  }
}
