import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct CacheReaderTests {
  let directory = CacheDirectory()

  @Test func aPrefixIsOfBytes() throws {
    let cache = try directory.open()
    let long = "k" + String(repeating: "x", count: 700)
    for key in ["a", "é", "e\u{301}", "éa", "z", "", "e", long] { try cache.set(1, forKey: key) }
    try cache.flush()
    let reader = try directory.reader()
    for prefix in ["", "e", "é", "k", long, "éa", "none"] {
      var keys: [String] = []
      try reader.forEachPage(withPrefix: prefix, pageSize: 1) {
        keys += $0.map(\.key)
        return true
      }
      let expected = try cache.entries(withPrefix: prefix).map(\.key)
      #expect(Keys.sorted(keys) == Keys.sorted(expected), "\(prefix)")
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
    try cache.removeValue(forKey: "key:14")
    try cache.flush()
    #expect(try page(first.next, 5).keys == (15..<20).map { "key:\($0)" })
    // Before the prefix, between two keys, and at the end.
    for (after, keys) in [("a", ["key:10"]), ("key:15x", ["key:16"]), ("key:29", [])] as [(String, [String])] {
      #expect(try page(EntryPlace(after: after)).keys == keys)
    }
    try cache.close()
  }

  @Test func figuresAreTheCachesOwn() throws {
    let cache = try directory.open()
    for number in 0..<300 { try cache.set("value \(number)", forKey: "key:\(number)", tags: ["tag"]) }
    try cache.set(Data(repeating: 7, count: 100_000), forKey: "logged", cost: 1 << 40)
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
    #expect(figures.slotObstacle == nil && figures.readers == [] && figures.database.readersInUse == info.readersInUse)
    #expect(try figures.bytesOnDisk == cache.disk.size)
    try cache.close()
  }
}
