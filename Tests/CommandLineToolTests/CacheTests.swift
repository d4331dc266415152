import Foundation
import LMDBCaching
import Testing

@Suite struct CacheTests {
  let scratch = try! Scratch()

  private func fill(_ count: Int) throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    for number in 0..<count { try cache.set("value", forKey: "key:\(1000 + number)", cost: 10) }
    try cache.close()
  }

  @Test func aListHasAHeadingAndALineForEachEntry() async throws {
    try fill(3)
    let list = try await Tool.run("ls", "--cache", scratch.cache)
    #expect(list.status == 0)
    let lines = list.text.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(
      lines[0].split(separator: " ") == ["KEY", "SIZE", "FORMAT", "COST", "EXPIRES", "CREATED"])
    #expect(lines[1].split(separator: " ").prefix(5) == ["key:1000", "5", "string", "10", "never"])
  }

  /// Limits are enforced by the cache's own processes.
  @Test func theToolKeepsNoLimits() async throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    cache.disk.costLimit = .max
    for number in 0..<8 { try cache.set(number, forKey: "\(number)", cost: 1 << 30) }
    try await cache.close()
    for number in 0..<3 {
      #expect(try await Tool.run("set", "new \(number)", "value", "--cache", scratch.cache).status == 0)
    }
    let list = try await Tool.run("ls", "-q", "--cache", scratch.cache)
    #expect(list.text.split(separator: "\n").count == 11)
  }

  /// The list exceeds one read batch.
  @Test func aLongListIsWrittenInParts() async throws {
    try fill(2_500)
    let keys = try await Tool.run("ls", "-q", "--cache", scratch.cache).text.split(separator: "\n").map(String.init)
    #expect(keys.count == 2_500 && keys == keys.sorted() && Set(keys).count == 2_500)
    let lines = try await Tool.run("ls", "--cache", scratch.cache).text.split(separator: "\n")
    #expect(lines.count == 2_501 && lines[0].hasPrefix("KEY"))
    #expect(lines.count { $0.hasPrefix("KEY") } == 1)
    let entries: [ListedEntry] = try await Tool.run("ls", "--json", "--cache", scratch.cache).json()
    #expect(entries.map(\.key) == keys)
    for limit in [1, 999, 1_000, 1_001, 2_500, 9_999] {
      let some = try await Tool.run("ls", "-q", "--limit", "\(limit)", "--cache", scratch.cache).text
      #expect(some.split(separator: "\n").map(String.init) == Array(keys.prefix(limit)), "\(limit)")
    }
    #expect(try await Tool.run("ls", "--limit", "0", "--cache", scratch.cache).status == 64)
    let first: [ListedEntry] = try await Tool.run("ls", "--json", "--limit", "1", "--cache", scratch.cache).json()
    #expect(first.map(\.key) == [keys[0]])
    #expect(try await Tool.run("ls", "--json", "--prefix", "none", "--cache", scratch.cache).text == "[]\n")
  }

  @Test func aListCanBeLimitedToAPrefix() async throws {
    try fill(30)
    let list = try await Tool.run("ls", "-q", "--prefix", "key:102", "--cache", scratch.cache)
    #expect(list.text == (1020...1029).map { "key:\($0)\n" }.joined())
    let empty = try await Tool.run("ls", "--prefix", "other", "--cache", scratch.cache)
    #expect(empty.status == 0 && empty.output.isEmpty)
    let none: [ListedEntry] = try await Tool.run("ls", "--json", "--prefix", "other", "--cache", scratch.cache).json()
    #expect(none.isEmpty)
  }

  private struct Summary: Decodable {
    struct Snapshot: Decodable {
      let process: Int32
      let transactionsBehind: Int
      let isSuspended: Bool
    }

    let entries, totalCost, bytesOnDisk, pages, pageSize, mapSize: Int
    let liveBytes, deadBytes, freeBytes: Int
    let durability, health, directory: String
    let oldestSnapshot: Snapshot?
  }

  /// A snapshot that is open until ``end()``.
  private final class HeldSnapshot: Sendable {
    private let ending = DispatchSemaphore(value: 0)

    init(of cache: LMDBCache) {
      let begun = DispatchSemaphore(value: 0)
      Thread { [ending] in
        do {
          try cache.read { _ in
            begun.signal()
            ending.wait()
          }
        } catch { Issue.record(error) }
      }.start()
      begun.wait()
    }

    func end() { ending.signal() }
  }

  @Test func statTellsOfTheSnapshotThatIsOpenForLongest() async throws {
    try fill(3)
    let none: Summary = try await Tool.run("stat", "--json", "--cache", scratch.cache).json()
    #expect(none.oldestSnapshot == nil)
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    let snapshot = HeldSnapshot(of: cache)
    for number in 0..<3 {
      try cache.set("value", forKey: "later:\(number)")
      try await cache.flush()
    }
    let summary: Summary = try await Tool.run("stat", "--json", "--cache", scratch.cache).json()
    let oldest = try #require(summary.oldestSnapshot)
    #expect(oldest.process == getpid())
    #expect(oldest.transactionsBehind == 3)
    #expect(!oldest.isSuspended)
    let table = try await Tool.run("stat", "--cache", scratch.cache).text
    #expect(table.contains("of process \(getpid()), 3 transactions behind"))
    snapshot.end()
    try await cache.close()
  }

  @Test func statCounts() async throws {
    try fill(100)
    let summary: Summary = try await Tool.run("stat", "--json", "--cache", scratch.cache).json()
    #expect(summary.entries == 100 && summary.totalCost == 1000)
    #expect(summary.bytesOnDisk > 0 && summary.pages > 1 && summary.pageSize > 0)
    #expect(summary.mapSize >= summary.pages * summary.pageSize)
    #expect(summary.durability == "ordered" && summary.health == "healthy")
    #expect(summary.liveBytes > 0 && summary.deadBytes == 0 && summary.freeBytes >= 0)
    let table = try await Tool.run("stat", "--cache", scratch.cache)
    #expect(table.status == 0)
    #expect(table.text.contains("total cost") && table.text.contains("1,000"))
    for name in ["live", "dead", "free"] { #expect(table.text.contains("\n  \(name) ")) }
  }

  @Test(arguments: Durability.allCases)
  func aCacheIsOpenedWithTheDurabilityItHas(_ durability: Durability) async throws {
    let set = try await Tool.run("set", "a", "b", "--durability", "\(durability)", "--cache", scratch.cache)
    #expect(set.status == 0, "\(set.errors)")
    #expect(try await Tool.run("set", "c", "d", "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("get", "a", "--cache", scratch.cache).text == "b")
    let summary: Summary = try await Tool.run("stat", "--json", "--cache", scratch.cache).json()
    #expect(summary.durability == "\(durability)" && summary.entries == 2)
    let other = Durability.allCases.first { $0 != durability }!
    let refused = try await Tool.run("set", "a", "b", "--durability", "\(other)", "--cache", scratch.cache)
    #expect(refused.status == 64)
  }

  @Test func trimKeepsALimit() async throws {
    try fill(100)
    #expect(try await Tool.run("trim", "--count", "40", "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("stat", "--json", "--cache", scratch.cache).json(as: Summary.self).entries <= 40)
    #expect(try await Tool.run("trim", "--cost", "100", "--cache", scratch.cache).status == 0)
    let summary: Summary = try await Tool.run("stat", "--json", "--cache", scratch.cache).json()
    #expect(summary.totalCost <= 100 && summary.entries > 0)
    #expect(try await Tool.run("trim", "--age", "3600", "--cache", scratch.cache).status == 0)
    let kept: Summary = try await Tool.run("stat", "--json", "--cache", scratch.cache).json()
    #expect(kept.entries == summary.entries)
    #expect(try await Tool.run("trim", "--creation-age", "3600", "--cache", scratch.cache).status == 0)
    #expect(
      try await Tool.run("stat", "--json", "--cache", scratch.cache).json(as: Summary.self).entries == kept.entries)
    #expect(try await Tool.run("trim", "--creation-age", "-1", "--cache", scratch.cache).status == 64)
    // An imported file counts as created when it was last changed.
    let files = scratch.path("files")
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    let file = try scratch.file("files/old", Data())
    try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -7_200)], ofItemAtPath: file)
    #expect(try await Tool.run("import", files, "--from", "files", "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("get", "old", "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("trim", "--creation-age", "3600", "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("get", "old", "--cache", scratch.cache).status == 1)
  }

  @Test func clearRemovesEverything() async throws {
    try fill(100)
    #expect(try await Tool.run("clear", "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("ls", "-q", "--cache", scratch.cache).output.isEmpty)
  }

  #if os(Linux)
    @Test func aNameIsTheCacheOfAnyProgram() async throws {
      let environment = ["HOME": scratch.url.path, "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""]
      // A cache that the tool creates is in its own directory.
      for (name, path) in [("own", ".cache/lmdb-cache/own"), (scratch.path(".local/share/app/named"), nil)] {
        #expect(try await Tool.run("set", "a", name, "--cache", name, environment: environment).status == 0)
        if let path { #expect(try await Tool.run("get", "a", "--cache", scratch.path(path)).text == name) }
      }
      #expect(
        try await Tool.run("get", "a", "--cache", "named", environment: environment).text
          == scratch.path(".local/share/app/named"))
      // Two programs may use the same cache name.
      let other = scratch.path(".cache/other/named")
      #expect(try await Tool.run("set", "a", "b", "--cache", other).status == 0)
      let ambiguous = try await Tool.run("get", "a", "--cache", "named", environment: environment)
      #expect(ambiguous.status == 64 && ambiguous.errors.contains(other), "\(ambiguous.errors)")
    }
  #endif

  @Test func aCacheThatIsOpenElsewhereCanBeLookedInto() async throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache))
    try await cache.write(waitsForCommit: true) { $0.set("here", forKey: "a") }
    #expect(try await Tool.run("get", "a", "--cache", scratch.cache).text == "here")
    #expect(try await Tool.run("set", "a", "there", "--cache", scratch.cache).status == 0)
    #expect(try cache.value(String.self, forKey: "a") == "there")
    try await cache.close()
  }
}
