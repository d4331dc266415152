import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// Write-ordering rules, one by one. The trial `power-loss` covers power cuts at any moment.
@Suite struct PowerCutTests {
  let directory = CacheDirectory()

  static func large(_ byte: UInt8) -> Data { Data(repeating: byte, count: 50_000) }

  func opened(_ durability: Durability) throws -> LMDBCache {
    try directory.open {
      neverCommitting(&$0); $0.disk.inlineThreshold = 10_000; $0.durability = durability
      // One segment per value.
      $0.disk.valueSegmentSize = 100_000
    }
  }

  /// A power cut may undo the last `.ordered` commit and bring back the old record.
  @Test(arguments: Durability.allCases) func aReplacedValueStaysWhileItsRecordMayComeBack(_ durability: Durability)
    throws
  {
    let cache = try opened(durability)
    try cache.set(Self.large(1), forKey: "key")
    try cache.flush()
    let first = directory.segments
    try cache.set(Self.large(2), forKey: "key")
    try cache.store.commitPending()
    #expect(directory.segments.count == 2)
    let session = FaultInjection.begin(.directory(directory.path), [.init(.envSync, returns: EIO, count: .max)])
    if durability == .ordered {
      #expect(errorCode { try cache.sweepValues() } != nil)
      #expect(Set(directory.segments).isSuperset(of: first))
    }
    FaultInjection.end(session)
    try cache.sweepValues()
    #expect(directory.segments.count == 1)
    #expect(Set(directory.segments).isDisjoint(with: first))
    try cache.close()
  }

  /// Map pages reach the disk in any order: writes after a missing or damaged one must not be replayed.
  @Test(arguments: [true, false]) func nothingIsReplayedBehindAGap(_ wasPowerCut: Bool) throws {
    let cache = try directory.open {
      neverCommitting(&$0); $0.disk.journalSize = 64 << 10; $0.disk.inlineThreshold = 1 << 20
    }
    // Prevents commits.
    let writer = HeldWriter(cache.store)
    for number in 0..<10 { try cache.set(String(repeating: "v", count: 3_000) + "\(number)", forKey: "key\(number)") }
    let crashed = directory.copy()
    writer.release()
    try cache.close()
    let journal = try #require(crashed.journals.first)
    let whole = crashed.contents(journal)
    let runs = Self.runs(whole)
    #expect(runs.count == 2 || runs.count == 3)
    let lost = runs[0].last!
    var torn = whole
    for index in lost { torn[index] = 0 }
    crashed.write(torn, to: journal)
    if wasPowerCut { crashed.makeJournalsOlder() }
    let reopened = try crashed.open()
    let kept = runs[0].count - 1
    for number in 0..<10 {
      #expect((try reopened.value(String.self, forKey: "key\(number)") != nil) == (number < kept))
    }
    #expect(try reopened.count == kept)
    try reopened.close()
  }

  /// The frames of each run, in order.
  static func runs(_ journal: Data) -> [[Range<Int>]] {
    journal.withBytes { bytes in
      let image = JournalImage.read(bytes)!
      return image.runs.map { $0.frames.map(image.range) }
    }
  }

  /// A power cut, crash or full disk may truncate a new file anywhere.
  @Test(arguments: [0, 1, 9, 11, 17, 19, 20, 4_096, 8_192]) func aPieceOfANewDatabaseIsInNobodysWay(_ size: Int) throws
  {
    let other = CacheDirectory()
    try other.open().close()
    directory.write(other.contents("data.mdb").prefix(size), to: "data.mdb.new/data.mdb")
    directory.write(Data([0xDE, 0xC0, 0xEF, 0xBE] + [UInt8](repeating: 9, count: 100)), to: "data.mdb.new/lock.mdb")
    let cache = try directory.open()
    try cache.set(1, forKey: "key")
    try cache.flush()
    #expect(!directory.names().contains("data.mdb.new"))
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try cache.close()
  }

  /// Without boot identifiers, an open `.fast` cache may be from another run of the system.
  @Test(arguments: [(5, 5, "v"), (5, 7, "nil"), (0, 0, "nil")])
  func aFastCacheIsBelievedWithinOneRunOnly(_ first: Int, _ second: Int, _ expected: String) throws {
    let open = "open \(directory.path) durability=\(Durability.fast.rawValue)"
    let killed = try BoundedProcess.run(
      "CacheTestProcess", input: ["boot \(first)", open, "set key v", "flush", "die"])
    #expect(killed.answers == ["ok", "ok", "ok", "ok"])
    let next = try BoundedProcess.run(
      "CacheTestProcess",
      input: ["boot \(second)", open, "get key", "set key new", "get key", "close", "exit"])
    #expect(next.answers == ["ok", "ok", expected, "ok", "new", "ok"])
  }

  /// Processes that share an open cache are of one run, and share one stamp clock.
  @Test func processesOfAnUnknownRunShareACache() throws {
    let processes = [try cacheProcess(), try cacheProcess()]
    for process in processes { #expect(process.run("boot 0") == "ok") }
    for process in processes { #expect(process.run("open \(directory.path)") == "ok") }
    for round in 0..<20 {
      #expect(processes[round % 2].run("set key \(round)") == "ok")
      #expect(processes[round % 2].run("flush") == "ok")
      #expect(processes[1 - round % 2].run("get key") == "\(round)")
    }
    for process in processes { #expect(process.run("close") == "ok") }
  }
}
