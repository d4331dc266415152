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
    #expect(found.process == getpid())
    #expect(found.name == ProcessInfo.processInfo.processName)
    #expect(found.opened.wall == Int64(before.timeIntervalSince1970) * 1_000_000_000)
    #expect(found.opened.monotonic <= found.published.monotonic)
    var expected = cache.statistics
    (expected.liveBytes, expected.deadBytes, expected.freeBytes) = (0, 0, 0)
    #expect(found.statistics == expected)
    #expect(found.statistics.sets == 3 && found.statistics.removals == 1 && found.statistics.loads == 1)
    #expect(found.memoryCount == cache.memory.count && found.memoryCost == cache.memory.totalCost)
    #expect(found.diskCount == 2 && found.journalUsed > 0 && found.journalSize > 1 << 23)
    #expect(found.latencies.commits.count == 1 && found.latencies.loads.count == 1)
    #expect(found.isHealthy)
    // Reading changes nothing.
    try cache.flush()
    let image = try TreeImage(directory.path)
    let activity = try read()
    #expect(activity.files.database > 0)
    #expect(try #require(activity.files.journals) > 0)
    #expect(activity.unreadableProcesses == 0)
    let later = try TreeImage(directory.path)
    #expect(image.losses(in: later) == [] && image.additions(in: later) == [])
    try cache.close()
    #expect(try read().processes.isEmpty)
    #expect(files.isEmpty)
  }

  /// Left by a hard-linked copy of the directory, or by another user.
  @Test func unsweepableFilesDoNotBlockPublishing() throws {
    let cache = try open()
    let folder = directory.path + "/statistics"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let other = folder + "/0123456789abcdef.live"
    try Data("LMDBCLS1".utf8).write(to: URL(fileURLWithPath: other))
    #expect(link(other, folder + "/copy") == 0)
    try cache.set("a", forKey: "a")
    for _ in 0..<3 {
      try makeRound(cache)
      #expect(try read().processes.count == 1)
      clock.advance(by: .seconds(61))
    }
    try cache.close()
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
    try makeRound(cache)
    #expect(number == 2)
    // A clock set back triggers nothing.
    clock.set(Date(timeIntervalSince1970: 1_000))
    try makeRound(cache)
    #expect(number == 2)
    _ = try cache.value(String.self, forKey: "a")
    try makeRound(cache)
    #expect(number == 3)
    #expect(try read().processes.first?.statistics.memoryHits == 2)
  }

  @Test func cachesOnOneDirectoryAreOneProcess() throws {
    let (first, second) = (try open(), try open())
    try first.set("a", forKey: "a")
    try second.set("b", forKey: "b")
    try second.flush()
    _ = try second.value(String.self, forKey: "b")
    try second.close()
    _ = try first.value(String.self, forKey: "a")
    try makeRound(first)
    let processes = try read().processes
    #expect(processes.count == 1)
    #expect(processes.first?.statistics.sets == 2)
    // A closed memory tier's counters still count; its contents do not.
    #expect(processes.first?.statistics.memoryHits == 2)
    #expect(processes.first?.memoryCount == 1)
  }

  @Test func deletedFilesAreRecreated() throws {
    let cache = try open()
    try makeRound(cache)
    try FileManager.default.removeItem(at: directory.url("statistics"))
    try makeRound(cache)
    #expect(try read().processes.isEmpty)
    try cache.set("a", forKey: "a")
    try makeRound(cache)
    #expect(try read().processes.first?.statistics.sets == 1)
    // Removes the whole directory.
    try FileManager.default.removeItem(at: directory.url)
    try cache.store.onWriterThread { [store = cache.store] in
      outcome { () throws(CacheError) in try store.place.bringFilesIntoPlace() }
    }
    try makeRound(cache)
    #expect(try read().processes.first?.statistics.sets == 1)
  }

  // MARK: What is in the way

  static let failures: [(FaultInjection.Call, Int32)] = [
    (.pwrite, ENOSPC), (.openat, EROFS), (.openat, EMFILE), (.mkdirat, EDQUOT), (.flock, ENOLCK), (.fstat, EIO),
  ]

  /// Fails only calls on the folder.
  @Test(arguments: failures) func aFailureCostsTheStatistics(_ failure: (FaultInjection.Call, Int32)) throws {
    let events = EventLog.Events()
    let cache = try open { $0.logger = EventLog.logger(events) }
    try cache.set("a", forKey: "a")
    try cache.flush()
    let scope = directory.path + (failure.0 == .mkdirat ? "" : "/statistics")
    let session = FaultInjection.begin(.directory(scope), [.init(failure.0, returns: failure.1, count: .max)])
    for _ in 0..<3 { try makeRound(cache) }
    FaultInjection.end(session)
    #expect(try read().processes.isEmpty)
    try cache.set("b", forKey: "b")
    try cache.flush()
    #expect(cache.health.isHealthy)
    // Not immediately.
    try makeRound(cache)
    #expect(try read().processes.isEmpty)
    clock.advance(by: .seconds(61))
    try makeRound(cache)
    #expect(try read().processes.first?.statistics.sets == 2)
    try cache.close()
    #expect(files.isEmpty)
    #expect(events.current.count { $0.message == "cache statistics not published" } == 1)
  }

  /// An unrelated file or link at the folder's path is kept.
  @Test(arguments: ["file", "empty file", "link", "dangling link"]) func obstaclesCostTheStatistics(_ kind: String)
    throws
  {
    try open().close()
    let (place, elsewhere) = (directory.url("statistics"), CacheDirectory())
    try? FileManager.default.removeItem(at: place)
    if kind.hasSuffix("file") {
      directory.write(Data(kind == "file" ? "mine".utf8 : "".utf8), to: "statistics")
    } else {
      let target = kind == "link" ? elsewhere.url : elsewhere.url("none")
      try FileManager.default.createSymbolicLink(at: place, withDestinationURL: target)
    }
    let before = try TreeImage(place.path)
    let cache = try open()
    try cache.set("a", forKey: "a")
    try makeRound(cache)
    try cache.flush()
    #expect(try cache.value(String.self, forKey: "a") == "a")
    try cache.close()
    #expect(before.losses(in: try TreeImage(place.path)) == [])
    #expect(elsewhere.names().isEmpty)
  }

  // MARK: What others left

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
    try living.file.write(block)

    let found = try read()
    #expect(found.processes.map(\.identifier) == [0x7777_7777_7777_7777])
    #expect(found.unreadableProcesses == 0)
    try makeRound(cache)
    let own = try read().processes.map(\.process).filter { $0 == getpid() }
    #expect(own.count == 1)
    let left = Set(files).subtracting(strangers).subtracting([digits[5], "statistics/7777777777777777.live"])
    #expect(left.count == 1, "\(left)")
    #expect(Set(files).isSuperset(of: strangers + [digits[5]]))
    try living.unlock()
  }

  @Test func emptyAndSpoiltStatisticsAreRejected() throws {
    let cache = try open()
    let folder = try Directory(path: directory.path).makeSubdirectory("statistics")
    let living = FileLock(try folder.create("7777777777777777.live"))
    #expect(try living.tryLock(.exclusive))
    // It has published nothing yet.
    #expect(try read().processes.isEmpty)
    #expect(try read().unreadableProcesses == 0)
    let block = StatisticsBlock.bytes(StatisticsBlockTests.statistics(), number: 1)
    for bytes in [Array(block.prefix(3_000)), block.map { ~$0 }, [UInt8](repeating: 0, count: 6_144)] {
      try living.file.write(bytes, at: 0)
      #expect(try read().processes.isEmpty)
      #expect(try read().unreadableProcesses == 1)
    }
    try living.file.write(block, at: 0)
    #expect(try read().processes.count == 1)
    try cache.close()
  }
}
