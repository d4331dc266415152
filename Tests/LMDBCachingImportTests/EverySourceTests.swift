import Foundation
import LMDBCaching
import LMDBCachingImport
import Synchronization
import TestSupport
import Testing

@Suite struct EverySourceTests {
  let place = Place()
  let entries = [
    (key: "name", text: "Ada"), (key: "title", text: "Countess of Lovelace"), (key: "ключ é", text: "значение é 你好"),
    (key: "a b", text: "with a space"), (key: "100%25", text: "with a sign"),
  ]

  @Test(arguments: StoreKind.all)
  func everythingIsTakenAndTheSourceStaysAsItIs(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let before = try TreeImage(place.url.path)
    let work = CacheImport(from: kind.source(place))
    let dry = try work.dryRun(for: nil)
    #expect(dry.taken == entries.count && dry.isDryRun && dry.isComplete)
    #expect(!FileManager.default.fileExists(atPath: place.path("cache")))
    let cache = try place.cache()
    var progress: [ImportProgress] = []
    let report = try work.run(into: cache) { progress.append($0) }
    #expect(report.examined == entries.count && report.taken == entries.count && report.takenBytes > 0)
    #expect(report.present + report.expired + report.refused + report.unselected == 0)
    #expect(report.refusals.isEmpty && report.isComplete && !report.isDryRun && progress.last?.report == report)
    #expect(progress.last?.total == (kind.testDescription == "files" ? nil : entries.count))
    let second = try work.run(into: cache)
    #expect(second.taken == 0 && second.present == entries.count && second.examined == entries.count)
    for (key, text) in entries { #expect(try kind.read(cache, key) == text, "\(key)") }
    try cache.close()
    let closed = importError { try work.run(into: cache) }
    #expect(closed?.code == .cacheFailed && (closed?.underlying as? CacheError)?.code == .closed)
    let after = try TreeImage(place.url.path)
    #expect(before.losses(in: after) == [])
    #expect(before.additions(in: after).allSatisfy { $0.hasPrefix("./cache") })
  }

  @Test(arguments: StoreKind.all)
  func whatIsThereStaysUnlessItHasExpiredOrIsToBeReplaced(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let clock = ManualClock(date: Date())
    let cache = try place.cache { $0.clock = .manual(clock) }
    try cache.set("newer", forKey: "name")
    try cache.set("older", forKey: "title", expires: .after(.seconds(1)))
    clock.advance(by: .seconds(2))
    var work = CacheImport(from: kind.source(place))
    let dry = try work.dryRun(for: cache.withoutMemory)
    #expect(dry.taken == entries.count - 1 && dry.present == 1 && dry.isDryRun)
    let report = try work.run(into: cache)
    #expect(report.taken == entries.count - 1 && report.present == 1)
    #expect(try cache.value(String.self, forKey: "name") == "newer", "in memory, too")
    #expect(try kind.read(cache, "title") == "Countess of Lovelace")
    work.options.existing = .replaced
    let replacing = try work.run(into: cache)
    #expect(replacing.taken == entries.count && replacing.present == 0)
    #expect(try kind.read(cache, "name") == "Ada")
    work.options.keyPrefix = "old:"
    work.options.isSelected = { $0.hasPrefix("n") || $0.hasPrefix("t") }
    let selecting = try work.run(into: cache)
    #expect(selecting.taken == 2 && selecting.unselected == entries.count - 2 && selecting.examined == entries.count)
    #expect(try cache.entries().map(\.key).filter { $0.hasPrefix("old:") } == ["old:name", "old:title"])
    #expect(try kind.read(cache, "old:name") == "Ada")
  }

  @Test(arguments: StoreKind.all)
  func longValuesAreRefusedAndListedUpToALimit(_ kind: StoreKind) throws {
    let long = String(repeating: "x", count: 5_000)
    try kind.write(entries + [(key: "long", text: long)], place)
    let cache = try place.cache()
    var work = CacheImport(from: kind.source(place))
    work.options.maximumValueSize = 1
    work.options.listedRefusals = 3
    let none = try work.run(into: cache)
    #expect(none.refused == 6 && none.refusals.count == 3 && none.refusalCounts == [.tooLarge: 6])
    work.options.maximumValueSize = 1_000
    let report = try work.run(into: cache)
    #expect(report.taken == entries.count && report.refused == 1)
    #expect(reasons(report) == ["long": .tooLarge] && report.refusalCounts == [.tooLarge: 1])
    #expect(try kind.read(cache, "long") == nil)
    work.options.maximumValueSize = 10_000
    #expect(try work.run(into: cache).taken == 1 && kind.read(cache, "long") == long)
  }

  /// Cancelled imports keep their entries, with every durability and a small journal.
  @Test(arguments: StoreKind.all, [Durability.full, .fast])
  func aCancelledImportGoesOn(_ kind: StoreKind, _ durability: Durability) async throws {
    var entries = (0..<600).map { (key: "key \($0)", text: "value \($0)") }
    entries.append((key: "long", text: String(repeating: "y", count: 100_000)))
    try kind.write(entries, place)
    let cache = try place.cache {
      $0.durability = durability
      $0.disk.journalSize = 64 << 10
    }
    let source = kind.source(place)
    func cancelled() throws -> ImportReport {
      var asked = 0
      return try CacheImport(from: source).run(
        into: cache,
        isCancelled: {
          asked += 1
          return asked > 15
        })
    }
    let first = try cancelled()
    #expect(!first.isComplete && first.taken == 15 && first.examined == 15)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await CacheImport(from: source).run(into: cache)
    }
    #expect(try await !task.value.isComplete)
    let last = try await CacheImport(from: source).run(into: cache)
    #expect(last.isComplete && last.taken == 586 && last.present == 15)
    for (key, text) in entries { #expect(try kind.read(cache, key) == text) }
  }

  @Test(arguments: StoreKind.all)
  func whatIsNoStoreIsAnError(_ kind: StoreKind) throws {
    func run() throws -> ImportReport { try CacheImport(from: kind.source(place)).run(into: place.cache()) }
    #expect(importErrorCode(run) == .sourceNotFound)
    // A FIFO is not waited for.
    #expect(mkfifo(place.store.path, 0o600) == 0)
    #expect(importErrorCode(run) == .foreignSource)
    try FileManager.default.removeItem(at: place.store)
    let source = try kind.foreign(place)
    let error = importError { try CacheImport(from: source).run(into: place.cache()) }
    #expect(error?.code == .foreignSource || error?.code == .damagedSource)
    #expect(error?.message.contains(place.store.lastPathComponent) == true)
    #expect(error?.report == nil)
  }

  /// A program uses the cache while the old one is still being imported.
  @Test(arguments: StoreKind.all)
  func valuesWrittenDuringAnImportAreNewer(_ kind: StoreKind) throws {
    let entries = (0..<2_000).map { (key: "key \($0)", text: "value \($0)") }
    try kind.write(entries, place)
    let cache = try place.cache()
    let isDone = Atomic<Bool>(false)
    let written = Mutex<Set<String>>([])
    let group = DispatchGroup()
    for index in 0..<2 {
      inBackground(group) {
        var number = index
        while !isDone.load(ordering: .relaxed) {
          let key = "key \(number % 2_000)"
          number += 7
          try! cache.set("written", forKey: key)
          written.withLock { _ = $0.insert(key) }
        }
      }
    }
    let report = try CacheImport(from: kind.source(place)).run(into: cache)
    isDone.store(true, ordering: .relaxed)
    group.wait()
    let newer = written.withLock { $0 }
    #expect(report.taken + report.present == 2_000)
    for (key, text) in entries {
      let value = try newer.contains(key) ? cache.value(String.self, forKey: key) : kind.read(cache, key)
      #expect(value == (newer.contains(key) ? "written" : text))
    }
  }

  @Test func wrongOptionsAreErrors() throws {
    let cache = try place.cache()
    var work = CacheImport(from: .files(in: place.url))
    work.options.maximumValueSize = -1
    #expect(importErrorCode { try work.run(into: cache) } == .invalidArgument)
    let remote = CacheImport(from: .files(in: URL(string: "https://example.org/x")!))
    #expect(importErrorCode { try remote.run(into: cache) } == .invalidArgument)
    let named = CacheImport(from: .userDefaults(named: "../x"))
    #expect(importErrorCode { try named.run(into: cache) } == .invalidArgument)
  }
}
