import Foundation
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// What a process publishes about itself, and when.
@Suite struct StatisticsPublisherTests {
  let directory = CacheDirectory()
  /// A stopped clock: the test triggers each round.
  let clock = ManualClock()

  private func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    try directory.open {
      $0.clock = .manual(clock)
      change(&$0)
    }
  }

  private func makeRound(_ cache: LMDBCache) throws {
    try cache.store.onWriterThread { [store = cache.store] in .success(store.publisher.makeRound()) }
  }

  private var files: [String] { directory.names(in: "statistics").map { "statistics/" + $0 } }

  /// The sequence number of the only file.
  private var number: UInt64? {
    guard let name = files.first, files.count == 1 else { return nil }
    return StatisticsBlock.read(Array(directory.contents(name)), identifier: 0)?.number
  }

  private func read() throws -> CacheActivity { try CacheActivity.read(path: directory.path) }

  @Test func everythingIsPublished() throws {
    let cache = try open()
    try cache.set("a", forKey: "a")
    try cache.set(["b": 1], forKey: "b", cost: 77)
    try cache.flush()
    _ = try cache.value(String.self, forKey: "a")
    cache.memory.removeAll()
    _ = try cache.value(String.self, forKey: "a")
    _ = try cache.value(String.self, forKey: "none")
    _ = try cache.value(Int.self, forKey: "loaded") { _ in 3 }
    try cache.removeValue(forKey: "b")
    let before = clock.date
    try makeRound(cache)
    let found = try #require(try read().processes.first)
    #expect(found.process == getpid() && found.name == ProcessInfo.processInfo.processName)
    #expect(found.opened.wall == Int64(before.timeIntervalSince1970) * 1_000_000_000)
    #expect(found.opened.monotonic <= found.published.monotonic)
    var expected = cache.statistics
    (expected.liveBytes, expected.deadBytes, expected.freeBytes) = (0, 0, 0)
    #expect(found.statistics == expected)
    #expect(found.memoryCount == cache.memory.count && found.memoryCost == cache.memory.totalCost)
    #expect(found.diskCount == 2 && found.journalUsed > 0 && found.journalSize > 1 << 23 && found.isHealthy)
    #expect(found.latencies.commits.count == 1 && found.latencies.loads.count == 1)
    // Reading changes nothing.
    try cache.flush()
    let image = try TreeImage(directory.path)
    let activity = try read()
    #expect(activity.files.database > 0 && activity.files.journals ?? 0 > 0 && activity.unreadableProcesses == 0)
    let later = try TreeImage(directory.path)
    #expect(image.losses(in: later) == [] && image.additions(in: later) == [])
    try cache.close()
    #expect(try read().processes.isEmpty && files.isEmpty)
  }

  @Test func nothingIsWrittenWhileNothingChanges() throws {
    let cache = try open()
    try cache.set("a", forKey: "a")
    try cache.flush()
    #expect(number == nil)
    try makeRound(cache)
    #expect(number == 1)
    for _ in 0..<3 { try makeRound(cache) }
    #expect(number == 1)
    _ = try cache.value(String.self, forKey: "a")
    // A clock set back triggers nothing.
    clock.set(Date(timeIntervalSince1970: 1_000))
    for _ in 0..<2 { try makeRound(cache) }
    #expect(number == 2)
    #expect(try read().processes.first?.statistics.memoryHits == 1)
  }

  /// A link at the folder's path is neither followed nor removed. The table of faults tries calls that fail.
  @Test func aLinkCostsTheStatistics() throws {
    try open().close()
    let (place, elsewhere) = (directory.url("statistics"), CacheDirectory())
    try? FileManager.default.removeItem(at: place)
    try FileManager.default.createSymbolicLink(at: place, withDestinationURL: elsewhere.url)
    let before = try TreeImage(place.path)
    let cache = try open()
    try cache.set("a", forKey: "a")
    try makeRound(cache)
    try cache.flush()
    try cache.close()
    #expect(before.losses(in: try TreeImage(place.path)) == [] && elsewhere.names().isEmpty)
  }

  // MARK: What others left

  /// Left by a hard-linked copy of the directory, or by another user.
  @Test func unsweepableFilesDoNotBlockPublishing() throws {
    let cache = try open()
    directory.write(Data("LMDBCLS1".utf8), to: "statistics/0123456789abcdef.live")
    let folder = directory.path + "/statistics/"
    #expect(link(folder + "0123456789abcdef.live", folder + "copy") == 0)
    try cache.set("a", forKey: "a")
    for _ in 0..<2 {
      try makeRound(cache)
      #expect(try read().processes.count == 1)
      clock.advance(by: .seconds(61))
    }
    try cache.close()
  }

  @Test func onlyOrphanedStatisticsAreSwept() throws {
    let cache = try open()
    let digits = (1...6).map { "statistics/" + String(repeating: "\($0)", count: 16) + ".live" }
    let block = StatisticsBlock.bytes(StatisticsBlockTests.statistics(), number: 1)
    let spoilt = [Data(block), Data(block.prefix(100)), Data(), Data(count: 6_144)]
    for (name, data) in zip(digits, spoilt) { directory.write(data, to: name) }
    let strangers = [
      "statistics/1111111111111111.live.old", "statistics/notes", "statistics/111111111111111G.live", digits[4],
    ]
    for name in strangers { directory.write(Data("mine".utf8), to: name) }
    let elsewhere = CacheDirectory()
    elsewhere.write(Data(block), to: "block")
    try FileManager.default.createSymbolicLink(at: directory.url(digits[5]), withDestinationURL: elsewhere.url("block"))
    let living = try FileLock(Directory(path: directory.path + "/statistics").create("7777777777777777.live"))
    #expect(try living.tryLock(.exclusive))
    // It has published nothing yet.
    #expect(try read().processes.isEmpty && read().unreadableProcesses == 0)
    try living.file.write(block.map { ~$0 }, at: 0)
    #expect(try read().processes.isEmpty && read().unreadableProcesses == 1)
    try living.file.write(block, at: 0)
    let found = try read()
    #expect(found.processes.map(\.identifier) == [0x7777_7777_7777_7777] && found.unreadableProcesses == 0)
    try makeRound(cache)
    let own = try read().processes.map(\.process).filter { $0 == getpid() }
    #expect(own.count == 1)
    let left = Set(files).subtracting(strangers).subtracting([digits[5], "statistics/7777777777777777.live"])
    #expect(left.count == 1, "\(left)")
    #expect(Set(files).isSuperset(of: strangers + [digits[5]]))
    try living.unlock()
  }
}
