import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct TagTests {
  let directory = CacheDirectory()

  @Test func limits() throws {
    let cache = try directory.open()
    #expect(errorCode { try cache.set(1, forKey: "key", tags: (0...64).map(String.init)) } == .invalidArgument)
    #expect(try !cache.contains("key"))
    // Includes the empty tag, a long tag, and tags equal as strings but not as bytes.
    let long = String(repeating: "t", count: 100_000)
    try cache.set(1, forKey: "key", tags: ["", long, "é"])
    try cache.removeAll(.tag("e\u{301}"))
    #expect(try cache.value(Int.self, forKey: "key") == 1 && cache.entry(forKey: "key")?.isTagged(long) == true)
    try cache.removeAll(.tag(""))
    #expect(try !cache.contains("key"))
    try cache.close()
  }

  /// The model sweeps on request.
  @Test func upkeepSweepsRemovedEntries() throws {
    let cache = try directory.open()
    for index in 0..<1_000 { try cache.set(index, forKey: "\(index)", tags: ["\(index % 10)"]) }
    for index in 0..<100 { try cache.set(Data(repeating: 1, count: 10_000), forKey: "long \(index)", tags: ["3"]) }
    try cache.flush()
    try cache.removeAll(.tag("3"))
    #expect(try eventually { try cache.count == 900 && cache.store.database.valueUsage().bytes == 0 })
    #expect(cache.statistics.diskEvictions == 0)
    // A trim sweeps too, for any goal.
    try cache.removeAll(.tag("4"))
    try cache.disk.trim(to: .count(850))
    #expect(try cache.count == 800)
    try cache.close()
  }

  /// Removals are forgotten after a while; writes delayed longer than that are dropped.
  @Test func removalsAreForgotten() throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    for index in 0..<100 {
      try cache.set(index, forKey: "\(index)", tags: ["\(index)", "all"])
      try cache.removeAll(.tag("\(index)"))
    }
    try cache.set("stays", forKey: "stays", tags: ["all"])
    try cache.disk.trim(to: .limits)
    func removals() throws -> Int {
      cache.store.enqueueMaintenance()
      try cache.settle()
      return try cache.store.database.tagRemovals().removals.count
    }
    #expect(try removals() == 100)
    clock.advance(by: .seconds(3_700))
    #expect(try removals() == 0)
    cache.memory.removeAll()
    #expect(try cache.entries().map(\.key) == ["stays"] && cache.value(String.self, forKey: "stays") == "stays")
    // Written before the removal, committed after it.
    let forgotten = try cache.store.database.tagStatus().forgotten
    try cache.store.onWriterThread { [store = cache.store] in
      outcome { () throws(CacheError) in
        try store.database.transact("A late write") { (session) throws(LMDBError) in
          for (key, tags, stamp) in [
            ("late", ["new"], forgotten), ("plain", [], forgotten), ("new", ["new"], forgotten + 1),
          ] {
            var header = RecordHeader(format: .bytes, expires: 0, now: 1, cost: 1)
            let tags = (try? EntryTags.make(tags)) ?? nil
            header.tags = tags?.hashes
            let record = withExtendedLifetime(tags) {
              Array(key.utf8).withBytes { utf8 in
                CacheKey.with(key) { PreparedPut($0, header, utf8).record(stamp: stamp) }
              }
            }
            try record.withBytes { (record) throws(LMDBError) in
              try Array(key.utf8).withBytes { (key) throws(LMDBError) in try session.put(record, forKey: key) }
            }
          }
        }
      }
    }
    #expect(try cache.entries().map(\.key) == ["new", "plain", "stays"])
    try cache.close()
  }

  /// Tags that share a marker word must not lose entries.
  @Test func tagsThatShareAWord() throws {
    let cache = try directory.open()
    func group(_ tag: String) -> UInt64 { EntryTags.hash(tag) >> 52 }
    let first = "tag"
    let second = try #require((0...).lazy.map { "other \($0)" }.first { group($0) == group(first) })
    try cache.set(1, forKey: "key", tags: [second])
    try cache.removeAll(.tag(first))
    let reads = cache.statistics.diskHits
    for _ in 0..<10 { #expect(try cache.value(Int.self, forKey: "key") == 1) }
    // After one disk check, memory serves it again.
    #expect(cache.statistics.diskHits == reads && cache.statistics.memoryHits >= 10)
    try cache.removeAll(.tag(second))
    #expect(try cache.value(Int.self, forKey: "key") == nil)
    try cache.close()
  }
}
