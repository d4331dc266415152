import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct CacheReaderTests {
  let directory = CacheDirectory()

  private static let longKey = "k" + String(repeating: "x", count: 700)

  private func fill(_ cache: LMDBCache) throws {
    for number in 0..<300 { try cache.set("value \(number)", forKey: "key:\(number)") }
    try cache.set("empty", forKey: "")
    try cache.set("long", forKey: Self.longKey, tags: (0..<64).map { "tag \($0)" })
    try cache.set(Data(count: 2_020), forKey: "in pages of its own", tags: (0..<64).map { "tag \($0)" })
    try cache.set(Data(repeating: 7, count: 100_000), forKey: "logged", cost: 1 << 40)
    try cache.set("soon", forKey: "expiring", expires: .after(.seconds(3_600)))
    try cache.set(Double.pi, forKey: "number")
    try cache.set(["a": 1], forKey: "codable")
  }

  @Test func aPrefixIsOfBytes() throws {
    let cache = try directory.open()
    for key in ["a", "é", "e\u{301}", "éa", "z", "", "e"] { try cache.set(1, forKey: key) }
    try cache.set(1, forKey: Self.longKey)
    try cache.flush()
    let reader = try directory.reader()
    for prefix in ["", "a", "e", "é", "k", Self.longKey, Self.longKey + "x", "é" + "a", "none"] {
      var keys: [String] = []
      try reader.forEachPage(withPrefix: prefix, pageSize: 1) {
        keys += $0.map(\.key)
        return true
      }
      // Compares bytes: `==` on strings equates composed and decomposed letters.
      let expected = Set(try cache.entries(withPrefix: prefix).map { Array($0.key.utf8) })
      #expect(keys.count == expected.count && Set(keys.map { Array($0.utf8) }) == expected, "\(prefix)")
    }
    try cache.close()
  }

  @Test func aListGoesOnWhereItEndedWhateverBecomesOfThatEntry() throws {
    let cache = try directory.open()
    for number in 10..<30 { try cache.set(number, forKey: "key:\(number)") }
    try cache.flush()
    let reader = try directory.reader()
    let first = try reader.page(withPrefix: "key:", limit: 5)
    #expect(first.entries.map(\.key) == (10..<15).map { "key:\($0)" })
    try cache.removeValue(forKey: "key:14")
    try cache.flush()
    let second = try reader.page(withPrefix: "key:", after: first.next, limit: 5)
    #expect(second.entries.map(\.key) == (15..<20).map { "key:\($0)" })
    #expect(
      try reader.page(withPrefix: "key:", after: EntryPlace(after: "key:15x"), limit: 1).entries[0].key == "key:16")
    #expect(try reader.page(withPrefix: "key:", after: EntryPlace(after: "key:29"), limit: 1).entries.isEmpty)
    // A position before the prefix.
    #expect(try reader.page(withPrefix: "key:", after: EntryPlace(after: "a"), limit: 1).entries[0].key == "key:10")
    try cache.close()
  }

  @Test func whatExpiresIsGoneForReadsAndCanBeHad() throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    try cache.set("brief", forKey: "brief", expires: .after(.seconds(10)))
    try cache.set("stays", forKey: "stays")
    try cache.flush()
    let reader = try #require(try CacheReader(directory: directory.url, clock: .manual(clock)))
    #expect(try reader.value(String.self, forKey: "brief") == "brief")
    clock.advance(by: .seconds(11))
    #expect(try reader.value(String.self, forKey: "brief") == nil)
    #expect(try reader.seen().keys.sorted() == ["stays"])
    var all: [String] = []
    try reader.forEachRecord(selection: .all, onDamage: { throw $0 }) {
      all.append($0.key)
      return true
    }
    #expect(all == ["brief", "stays"])
    try cache.close()
  }

  @Test func aRecordHasAllThatIsStored() throws {
    let cache = try directory.open()
    try cache.set(
      Data(repeating: 1, count: 9_000), forKey: "key", expires: .after(.seconds(100)), cost: 77, tags: ["a", "b"])
    try cache.flush()
    let header = try #require(
      try CacheKey.with("key") { (key) throws(CacheError) in try cache.store.header(key)?.header })
    let record = try #require(try directory.reader().record(forKey: "key"))
    #expect(record.stored == Data(repeating: 1, count: 9_000) && record.isLogged && !record.isTransformed)
    #expect(record.expires == header.expires && record.stamp == header.stamp && record.created == header.created)
    #expect(record.entry.cost == 77 && record.format == .bytes && !record.isAbsence)
    #expect(Set(record.tagHashes) == Set(["a", "b"].map(EntryTags.hash)))
    try cache.close()
  }

  // MARK: Other states

  @Test func withoutACacheThereIsNone() throws {
    #expect(try CacheReader(directory: directory.url) == nil)
    #expect(try CacheReader(directory: directory.url("none")) == nil)
    directory.write(Data("x".utf8), to: "file")
    #expect(try CacheReader(directory: directory.url("file")) == nil)
    #expect(directory.names() == ["file"])
  }

  @Test func itFollowsTheCacheAndTheFilesInItsPlace() throws {
    var cache = try directory.open()
    try cache.set(1, forKey: "key")
    try cache.flush()
    let reader = try directory.reader()
    let first = try reader.state()
    #expect(try reader.state() == first)
    try cache.set(2, forKey: "key")
    try cache.flush()
    #expect(try reader.state().transactionID > first.transactionID)
    #expect(try reader.value(Int.self, forKey: "key") == 2)
    try cache.close()
    // A different cache with the same transaction count.
    for name in directory.names() { try FileManager.default.removeItem(at: directory.url(name)) }
    #expect(errorCode { try reader.state() } == .invalidDirectory)
    cache = try directory.open()
    try cache.set(3, forKey: "key")
    try cache.close()
    #expect(try reader.value(Int.self, forKey: "key") == 3)
    #expect(try reader.state().file != first.file)
  }

  @Test(arguments: [Durability.fast]) func aFastCacheOfAnotherBootIsNotBelieved(_ durability: Durability) throws {
    let cache = try directory.open { $0.durability = durability }
    try cache.set("v", forKey: "key")
    try cache.flush()
    let crashed = directory.crashed(cache)
    try cache.close()
    #expect(try crashed.reader().value(String.self, forKey: "key") == "v")
    crashed.write(Data(("LMDBCFS1" + String(repeating: "x", count: 16)).utf8), to: FastSession.name)
    let before = try TreeImage(crashed.path, except: ["lock.mdb"])
    #expect(errorCode { try CacheReader(directory: crashed.url) } == .damagedDatabase)
    #expect(try TreeImage(crashed.path, except: ["lock.mdb"]) == before)
  }

  @Test func anotherProgramsDatabaseIsNoCache() throws {
    var options = Environment.Options()
    options.mapSize = 64 << 20
    let environment = try Environment.open(directory: directory.path, options: options)
    let transaction = try environment.beginWrite()
    try [UInt8]("foreign".utf8).withBytes { (bytes) throws(LMDBError) in try transaction.put(bytes, forKey: bytes) }
    try transaction.commit()
    environment.close()
    #expect(errorCode { try CacheReader(directory: directory.url) } == .corruptedRecord)
    directory.write(Data(repeating: 0x5A, count: 50_000), to: "data.mdb")
    #expect(errorCode { try CacheReader(directory: directory.url) } == .corruptedRecord)
  }

  @Test func aCacheOfANewerVersionSaysSo() throws {
    let cache = try directory.open()
    try cache.set("v", forKey: "key")
    try cache.flush()
    try OpeningTests.rewriteMetadata(cache.store.environment) { $0[8] = UInt8(CacheMetadata.version + 1) }
    try cache.close()
    #expect(errorCode { try CacheReader(directory: directory.url) } == .unsupportedVersion)
  }

  @Test func figuresAreTheCachesOwn() throws {
    let cache = try directory.open()
    try fill(cache)
    try cache.removeValue(forKey: "key:7")
    try cache.flush()
    let figures = try directory.reader().figures()
    let (statistics, info) = (cache.statistics, try cache.store.environment.info())
    #expect(try figures.entries == cache.count && figures.totalCost == cache.totalCost)
    #expect(figures.durability == .ordered && figures.pendingWrites == 0 && figures.countsPendingWrites)
    #expect(figures.liveBytes == statistics.liveBytes)
    #expect(figures.deadBytes + figures.freeBytes == statistics.deadBytes + statistics.freeBytes)
    #expect(figures.database.main == info.main)
    #expect(figures.database.lastTransactionID == info.lastTransactionID)
    #expect(figures.slotObstacle == nil && figures.readers == [])
    #expect(figures.database.readersInUse == info.readersInUse)
    #expect(try figures.bytesOnDisk == cache.disk.size)
    try cache.close()
  }

  @Test func valuesAreFoundWhereverTheyAreMoved() throws {
    let cache = try directory.open { $0.disk.valueSegmentSize = 1 << 20 }
    let reader = try { () throws in
      try cache.set("v", forKey: "first")
      try cache.flush()
      return try directory.reader()
    }()
    for round in 0..<5 {
      for number in 0..<100 where round == 0 || number % 3 != 0 {
        try cache.set(Data(repeating: UInt8(number), count: 20_000 + round), forKey: "key:\(number)")
      }
      try cache.flush()
      try cache.sweepValues()
      for number in 0..<100 {
        let size = round == 0 || number % 3 != 0 ? 20_000 + round : 20_000
        let value = try reader.value(Data.self, forKey: "key:\(number)")
        #expect(value == Data(repeating: UInt8(number), count: size))
      }
    }
    try cache.close()
  }
}
