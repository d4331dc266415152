import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct BatchTests {
  let directory = CacheDirectory()

  private func write(_ cache: LMDBCache, waits: Bool = false) throws {
    try cache.set("old", forKey: "removed/1")
    try cache.write(waitsForCommit: waits) { batch in
      batch.removeAll(.prefix("removed/"))
      for index in 0..<50 { batch.set("v\(index)", forKey: "key\(index)") }
      batch.removeValue(forKey: "key7")
    }
  }

  private func hasPending(_ cache: LMDBCache) -> Bool { cache.store.journal.hasPending.load(ordering: .acquiring) }

  private func expectBatch(_ value: (String) throws -> String?) throws {
    for index in 0..<50 { #expect(try value("key\(index)") == (index == 7 ? nil : "v\(index)")) }
    #expect(try value("removed/1") == nil)
  }

  @Test(arguments: Durability.allCases) func aBatchIsReadAtOnceAndCommittedLater(_ durability: Durability) throws {
    let cache = try directory.open {
      neverCommitting(&$0); $0.durability = durability; $0.memory.countLimit = 0
    }
    try cache.set("first", forKey: "first")
    try cache.flush()
    let commits = cache.statistics.commits
    try write(cache)
    #expect((cache.statistics.commits > commits) == (durability == .full))
    #expect(hasPending(cache) == (durability != .full))
    try expectBatch { try cache.value(String.self, forKey: $0) }
    try cache.read { snapshot in try expectBatch { try snapshot.value(String.self, forKey: $0) } }
    try cache.close()
  }

  @Test func whoWaitsForTheCommitIsSeenByOtherProcesses() throws {
    let cache = try directory.open(neverCommitting)
    try write(cache)
    let other = try cacheProcess()
    #expect(other.run("open \(directory.path)") == "ok")
    #expect(other.run("get key1") == "nil")
    try write(cache, waits: true)
    try expectBatch { key in
      let answer = other.run("get \(key)")
      return answer == "nil" ? nil : answer
    }
    #expect(other.run("close") == "ok")
    try cache.close()
  }

  @Test func aBatchSurvivesItsProcess() throws {
    let dead = try BoundedProcess.run(
      "CacheTestProcess", input: ["open \(directory.path) interval=86400000", "batch key v", "die"])
    #expect(dead.answers == ["ok", "ok"])
    let cache = try directory.open()
    #expect(try cache.value(String.self, forKey: "key") == "v")
    try cache.close()
  }

  @Test func aBatchThatTheJournalCannotHoldIsCommitted() throws {
    let cache = try directory.open {
      neverCommitting(&$0); $0.disk.journalSize = 64 << 10
    }
    let filler = String(repeating: "f", count: 1_000)
    try cache.write { batch in for index in 0..<100 { batch.set(filler, forKey: "key\(index)") } }
    #expect(!hasPending(cache))
    #expect(try cache.count == 100)
    try cache.close()
  }
}
