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

  @Test func listsContinueAfterTheLastEntryIsRemoved() throws {
    let cache = try directory.open()
    for number in 10..<30 { try cache.set(number, forKey: "key:\(number)") }
    try cache.flush()
    let reader = try directory.reader()
    func page(_ place: EntryPlace?, _ limit: Int = 1) throws -> (keys: [String], next: EntryPlace?) {
      let page = try reader.page(withPrefix: "key:", after: place, limit: limit)
      return (page.entries.map(\.key), page.next)
    }
    let first = try page(nil, 5)
    #expect(first.keys == (10..<15).map { "key:\($0)" })
    try cache.removeValue(forKey: "key:14")
    try cache.flush()
    #expect(try page(first.next, 5).keys == (15..<20).map { "key:\($0)" })
    #expect(try page(EntryPlace(after: "key:15x")).keys == ["key:16"])
    #expect(try page(EntryPlace(after: "key:29")).keys == [])
    // A position before the prefix.
    #expect(try page(EntryPlace(after: "a")).keys == ["key:10"])
    try cache.close()
  }

  // MARK: Other states

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
}
