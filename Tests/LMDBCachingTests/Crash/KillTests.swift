import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// A process that is killed while it writes loses nothing that it was told is written.
@Suite(.serialized) struct KillTests {
  let directory = CacheDirectory()

  /// What the cache holds after the writes `0 ... last` of the child's loop.
  static func state(after last: Int, keys: Int, size: Int, clear: Int) -> [String: String] {
    var state: [String: String] = [:]
    // Nothing before the last `removeAll`, or the last round of the keys, matters.
    for number in max(0, last - max(keys, clear))...max(0, last) where last >= 0 {
      if clear > 0 && number % clear == clear - 1 {
        state = [:]
      } else {
        let key = "k" + String(number % keys)
        state[key] = payload(key, number, size)
      }
    }
    if clear == 0, last >= 0 {
      for number in max(0, last - keys + 1)...last {
        let key = "k" + String(number % keys)
        state[key] = payload(key, number, size)
      }
    }
    return state
  }

  static func contents(of cache: LMDBCache) throws -> [String: String] {
    var contents: [String: String] = [:]
    for entry in try cache.entries() { contents[entry.key] = try cache.value(String.self, forKey: entry.key) }
    return contents
  }

  struct Load: Sendable, CustomTestStringConvertible {
    var durability: Durability
    var keys = 40
    var size = 100
    var clear = 0
    var options = ""
    var cycles = 8
    var testDescription: String { "\(durability), \(keys) keys, \(size) bytes, clear \(clear)\(options)" }
  }

  static let loads = [
    Load(durability: .ordered, cycles: 20), Load(durability: .full), Load(durability: .fast),
    Load(durability: .ordered, keys: 200, clear: 97, options: " journal=65536"),
    Load(durability: .ordered, size: 3_000, options: " journal=65536 interval=5"),
    Load(durability: .ordered, keys: 15, size: 9_000, clear: 31, options: " threshold=4096"),
    Load(durability: .ordered, keys: 10, size: 40_000, options: " journal=65536"),
    Load(durability: .fast, keys: 20, size: 9_000, options: " threshold=4096", cycles: 5),
    Load(durability: .ordered, keys: 30, clear: 50, options: " interval=86400000"),
  ]

  @Test(arguments: loads) func everythingAcknowledgedSurvivesAKill(_ load: Load) throws {
    var random = SeededRandom(UInt64(load.size + load.keys))
    for cycle in 0..<load.cycles {
      let directory = CacheDirectory()
      let child = try cacheProcess()
      #expect(
        child.run("open \(directory.path) durability=\(load.durability.rawValue)\(load.options)") == "ok")
      child.send("loop k \(load.keys) \(load.size) \(load.clear)")
      let writes = random.below(cycle % 3 == 0 ? 10 : 2_000 / (1 + load.size / 500))
      var last = -1
      for _ in 0..<writes { last = Int(child.readLine() ?? "") ?? last }
      child.kill()
      last = Int(child.readRemaining().last ?? "") ?? last

      // Read at once: nothing is to be waited for.
      let cache = try directory.open { $0.durability = load.durability }
      let contents = try Self.contents(of: cache)
      let acknowledged = Self.state(after: last, keys: load.keys, size: load.size, clear: load.clear)
      let possible = Self.state(after: last + 1, keys: load.keys, size: load.size, clear: load.clear)
      #expect(contents == acknowledged || contents == possible, "cycle \(cycle), \(last) acknowledged")
      #expect(cache.count == contents.count)
      for (key, value) in contents {
        cache.memoryCache.removeAll()
        #expect(try cache.value(String.self, forKey: key) == value)
      }
      try cache.close()
    }
  }

  @Test func aKillOfAKillLeavesEverything() throws {
    // Each process replays the journal of the one before it, and is killed too.
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
    #expect(cache.count == 7)
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
    #expect(cache.count == 0)
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
    cache.memoryCache.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == "new")
    #expect(cache.count == 2)
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
    #expect(cache.count == 0)
    try cache.close()
  }
}
