import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// A reader sees pending journal entries as if they had been replayed.
@Suite struct PendingWritesTests {
  let directory = CacheDirectory()

  private static let keys =
    (0..<40).map { "\(["a", "b", "c"][$0 % 3]):\($0)" } + ["", "a:" + String(repeating: "x", count: 600)]

  private func write(_ number: Int, to cache: LMDBCache, _ random: inout SeededRandom) throws {
    let (key, tag) = (Self.keys[random.below(Self.keys.count)], "tag \(random.below(3))")
    switch random.below(20) {
    case 0: try cache.removeAll([.all, .prefix("a:"), .prefix("c:1"), .tag(tag)][random.below(4)])
    case 1...4: try cache.removeValue(forKey: key)
    case 5, 6: try cache.set(Data(repeating: UInt8(number & 255), count: 3_000 + random.below(9_000)), forKey: key)
    case 7, 8:
      try cache.write { batch in
        batch.removeValue(forKey: "b:1")
        batch.set(Data(count: 4_000), forKey: key)
      }
    case 9, 10: try cache.set("tagged \(number)", forKey: key, tags: [tag])
    case 11: try cache.set("dear \(number)", forKey: key, expires: .after(.seconds(9_999)), cost: 1 << 33)
    default: try cache.set("value \(number)", forKey: key)
    }
  }

  @Test(arguments: 0..<40) func readersAndReplaysAgreeOnDamagedJournals(_ seed: Int) throws {
    var random = SeededRandom(UInt64(1_000 + seed))
    let cache = try directory.open { configuration in
      neverCommitting(&configuration)
      configuration.disk.journalSize = 1 << 16
    }
    for number in 0..<30 { try write(number, to: cache, &random) }
    try cache.flush()
    for number in 30..<90 { try write(number, to: cache, &random) }
    let crashed = directory.crashed(cache)
    try cache.close()
    let name = try #require(crashed.journals.first)
    var journal = crashed.contents(name)
    for _ in 0...random.below(3) {
      // In the file header, segment headers, first frames, or anywhere.
      let segment = 4_096 + random.below(4) * 16_384
      let place = [random.below(80), segment + random.below(64), segment + random.below(6_000)]
      journal[place[random.below(3)]] = UInt8(truncatingIfNeeded: random.next())
    }
    if random.below(4) == 0 { journal.removeLast(random.below(journal.count)) }
    crashed.write(journal, to: name)
    let before = try TreeImage(crashed.path, except: ["lock.mdb"])
    let seen = try crashed.reader().seen()
    #expect(try TreeImage(crashed.path, except: ["lock.mdb"]) == before)
    let replayed = try crashed.open()
    #expect(try seen == replayed.seen())
    try replayed.close()
  }

  /// The newer write wins, regardless of journal names.
  @Test(arguments: 0..<6) func journalsOfSeveralProcesses(_ seed: Int) throws {
    var random = SeededRandom(UInt64(seed))
    let processes = [try cacheProcess(), try cacheProcess()]
    for process in processes { #expect(process.run("open \(directory.path) interval=86400000") == "ok") }
    for number in 0..<200 {
      let index = random.below(2)
      let (process, own) = (processes[index], "own\(index)")
      let command =
        switch random.below(12) {
        // A transaction that cannot see the other journal's pending write, which then replaces this one.
        case 10: "absent shared: 20"
        case 11: "absent own\(1 - index): 5"
        case 0: "remove \(own):\(random.below(5))"
        case 1: "removeprefix \(own):\(random.below(3))"
        case 2...4: "set \(own):\(random.below(5)) v\(number)"
        default: "set shared:\(random.below(20)) v\(number)"
        }
      #expect(process.run(command) == "ok" || command.hasPrefix("absent"))
    }
    for process in processes { process.kill() }
    #expect(directory.journals.count == 2)
    let before = try TreeImage(directory.path, except: ["lock.mdb"])
    let seen = try directory.reader().seen()
    #expect(try TreeImage(directory.path, except: ["lock.mdb"]) == before)
    #expect(seen.keys.contains { $0.hasPrefix("shared:") })
    let replayed = try directory.open()
    #expect(try seen == replayed.seen())
    try replayed.close()
  }

  /// When a journal is gone its mark is too, and the reader must not apply the journal's writes again.
  @Test func sweptJournalsAreNotSeenAgain() throws {
    let cache = try directory.open(neverCommitting)
    try cache.set("old", forKey: "key")
    let crashed = directory.crashed(cache)
    try cache.close()
    let reader = try crashed.reader()
    #expect(try reader.value(String.self, forKey: "key") == "old")
    let reopened = try crashed.open()
    try reopened.removeValue(forKey: "key")
    try reopened.flush()
    try reopened.store.sweepCommittedStamps()
    #expect(try reader.value(String.self, forKey: "key") == nil)
    try reopened.close()
  }

  /// Like a replay: writes after one that a power cut lost are dropped.
  @Test(arguments: [true, false]) func writesAfterALostValueAreNotSeen(_ wasPowerCut: Bool) throws {
    let cache = try directory.open { configuration in
      neverCommitting(&configuration)
      configuration.disk.valueSegmentSize = 1 << 16
    }
    try cache.set("1", forKey: "before")
    try cache.set(Data(repeating: 9, count: 50_000), forKey: "large")
    try cache.set("1", forKey: "after")
    let crashed = directory.crashed(cache)
    try cache.close()
    for segment in crashed.segments { try FileManager.default.removeItem(at: crashed.url(segment)) }
    if wasPowerCut { crashed.makeJournalsOlder() }
    #expect(try crashed.reader().seen().keys.sorted() == (wasPowerCut ? ["before"] : ["after", "before"]))
  }
}
