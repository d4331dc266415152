import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// What another process finds after a kill. The trial `kills` covers arbitrary moments.
@Suite(.serialized) struct KillTests {
  let directory = CacheDirectory()

  @Test func aKillOfAKillLeavesEverything() throws {
    // Each process replays its predecessor's journal, and is killed too.
    for round in 0..<6 {
      let child = try cacheProcess()
      #expect(child.run("open \(directory.path) interval=86400000") == "ok")
      for number in 0..<round {
        #expect(child.run("get r\(number)") == "v\(number)")
      }
      #expect(child.run("set r\(round) v\(round)") == "ok")
      #expect(child.run("set same v\(round)") == "ok")
      child.kill()
    }
    let cache = try directory.open()
    #expect(try cache.value(String.self, forKey: "same") == "v5")
    #expect(try cache.count == 7)
    try cache.close()
    #expect(directory.journals.isEmpty)
  }

  @Test(arguments: Durability.allCases) func whatWasRemovedStaysRemoved(_ durability: Durability) throws {
    let open = "open \(directory.path) durability=\(durability.rawValue) interval=86400000"
    let first = try cacheProcess()
    #expect(first.run(open) == "ok")
    for number in 0..<20 { #expect(first.run("set a\(number) v") == "ok") }
    #expect(first.run("flush") == "ok")
    for number in 0..<20 { #expect(first.run("set b\(number) v") == "ok") }
    #expect(first.run("remove a0") == "ok")
    first.kill()
    let second = try cacheProcess()
    #expect(second.run(open) == "ok")
    #expect(second.run("get a0") == "nil")
    #expect(second.run("get b0") == "v")
    #expect(second.run("removeprefix b1") == "ok")
    second.kill()
    let third = try cacheProcess()
    #expect(third.run(open) == "ok")
    #expect(third.run("get b1") == "nil")
    #expect(third.run("get b2") == "v")
    #expect(third.run("removeall") == "ok")
    third.kill()
    let cache = try directory.open { $0.durability = durability }
    #expect(try cache.value(String.self, forKey: "b2") == nil)
    #expect(try cache.value(String.self, forKey: "a5") == nil)
    #expect(try cache.entries().isEmpty)
    #expect(try cache.count == 0)
    try cache.close()
  }

  @Test func aLiveProcessTakesOverWhatADeadOneWrote() throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=86400000") == "ok")
    #expect(child.run("set key old") == "ok")
    child.kill()
    #expect(try eventually { try cache.value(String.self, forKey: "key") == "old" })
    #expect(cache.statistics.replayedWrites == 1)
    #expect(eventually { directory.journals.isEmpty })
    try cache.close()
  }

  @Test func aDeadProcesssOlderWriteDoesNotReplaceANewerOne() throws {
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=86400000") == "ok")
    let cache = try directory.open { $0.disk.groupCommitInterval = .zero }
    #expect(child.run("set key old") == "ok")
    #expect(child.run("set other old") == "ok")
    try cache.set("new", forKey: "key")
    try cache.flush()
    child.kill()
    #expect(try eventually { try cache.value(String.self, forKey: "other") == "old" })
    #expect(try cache.value(String.self, forKey: "key") == "new")
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == "new")
    #expect(try cache.count == 2)
    try cache.close()
  }

  @Test func aDeadProcesssWriteFromBeforeARemovalOfAllStaysGone() throws {
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=86400000") == "ok")
    let cache = try directory.open()
    #expect(child.run("set key old") == "ok")
    try cache.removeAll()
    try cache.flush()
    child.kill()
    #expect(eventually { directory.journals.count == 1 })
    #expect(try cache.value(String.self, forKey: "key") == nil)
    #expect(try cache.count == 0)
    try cache.close()
  }
}
