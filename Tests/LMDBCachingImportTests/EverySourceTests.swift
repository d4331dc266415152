import Foundation
import LMDBCaching
import LMDBCachingImport
import TestSupport
import Testing

@Suite struct EverySourceTests {
  let place = Place()
  let entries = [
    (key: "name", text: "Ada"), (key: "title", text: "Countess of Lovelace"), (key: "ключ é", text: "значение é 你好"),
    (key: "a b", text: "with a space"), (key: "100%25", text: "with a sign"),
  ]

  private func write(_ kind: StoreKind, count: Int) throws -> [(key: String, text: String)] {
    let entries = (0..<count).map { (key: "key \($0)", text: "value \($0)") }
    try kind.write(entries, place)
    return entries
  }

  @Test(arguments: StoreKind.all)
  func everythingIsTakenAndTheSourceStaysAsItIs(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let before = try TreeImage(place.url.path)
    let cache = try place.cache()
    var progress: [ImportProgress] = []
    let report = try CacheImport(from: kind.source(place)).run(into: cache) { progress.append($0) }
    #expect(report.examined == entries.count && report.taken == entries.count && report.takenBytes > 0)
    #expect(report.present + report.expired + report.refused + report.unselected == 0)
    #expect(report.refusals.isEmpty && report.refusalCounts.isEmpty && report.isComplete && !report.isDryRun)
    for (key, text) in entries { #expect(try kind.read(cache, key) == text, "\(key)") }
    #expect(try cache.count == entries.count)
    #expect(progress.last?.report == report)
    #expect(progress.last?.total == (kind.testDescription == "files" ? nil : entries.count))
    let after = try TreeImage(place.url.path)
    #expect(before.losses(in: after) == [])
    #expect(before.additions(in: after).allSatisfy { $0.hasPrefix("./cache") })
  }

  @Test(arguments: StoreKind.all)
  func whatWasImportedIsThereAfterwards(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let cache = try place.cache()
    try CacheImport(from: kind.source(place)).run(into: cache)
    try cache.close()
    let again = try place.cache()
    for (key, text) in entries { #expect(try kind.read(again, key) == text) }
  }

  @Test(arguments: StoreKind.all)
  func aSecondRunTakesNothing(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let cache = try place.cache()
    try CacheImport(from: kind.source(place)).run(into: cache)
    let report = try CacheImport(from: kind.source(place)).run(into: cache)
    #expect(report.taken == 0 && report.present == entries.count && report.examined == entries.count)
  }

  @Test(arguments: StoreKind.all)
  func whatIsThereStays(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let cache = try place.cache()
    try cache.set("newer", forKey: "name")
    let report = try CacheImport(from: kind.source(place)).run(into: cache)
    #expect(report.taken == entries.count - 1 && report.present == 1)
    #expect(try cache.value(String.self, forKey: "name") == "newer")
  }

  @Test(arguments: StoreKind.all)
  func whatHasExpiredIsNotThere(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let clock = ManualClock(date: Date())
    let cache = try place.cache { $0.clock = .manual(clock) }
    try cache.set("older", forKey: "name", expires: .after(.seconds(1)))
    clock.advance(by: .seconds(2))
    #expect(try CacheImport(from: kind.source(place)).run(into: cache).taken == entries.count)
    #expect(try kind.read(cache, "name") == "Ada")
  }

  @Test(arguments: StoreKind.all)
  func whatIsThereIsReplacedIfAskedFor(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let cache = try place.cache()
    try cache.set("older", forKey: "name")
    #expect(try cache.value(String.self, forKey: "name") == "older", "in memory, too")
    var work = CacheImport(from: kind.source(place))
    work.options.existing = .replaced
    let report = try work.run(into: cache)
    #expect(report.taken == entries.count && report.present == 0)
    #expect(try kind.read(cache, "name") == "Ada")
  }

  @Test(arguments: StoreKind.all)
  func keysAreSelectedAndGetAPrefix(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let cache = try place.cache()
    var work = CacheImport(from: kind.source(place))
    work.options.keyPrefix = "old:"
    work.options.isSelected = { $0.hasPrefix("n") || $0.hasPrefix("t") }
    let report = try work.run(into: cache)
    #expect(report.taken == 2 && report.unselected == entries.count - 2 && report.examined == entries.count)
    #expect(try cache.entries().map(\.key) == ["old:name", "old:title"])
    #expect(try kind.read(cache, "old:name") == "Ada")
  }

  @Test(arguments: StoreKind.all)
  func aCancelledImportGoesOn(_ kind: StoreKind) throws {
    let entries = try write(kind, count: 40)
    let cache = try place.cache()
    var asked = 0
    let first = try CacheImport(from: kind.source(place)).run(
      into: cache,
      isCancelled: {
        asked += 1
        return asked > 15
      })
    #expect(!first.isComplete && first.taken == 15 && first.examined == 15)
    #expect(try cache.count == 15, "what was taken is kept")
    let second = try CacheImport(from: kind.source(place)).run(into: cache)
    #expect(second.isComplete && second.taken == 25 && second.present == 15)
    for (key, text) in entries { #expect(try kind.read(cache, key) == text) }
  }

  @Test(arguments: StoreKind.all)
  func aDryRunStoresNothing(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let without = try CacheImport(from: kind.source(place)).dryRun(for: nil)
    #expect(without.taken == entries.count && without.isDryRun && without.isComplete)
    #expect(!FileManager.default.fileExists(atPath: place.path("cache")))
    let cache = try place.cache()
    try cache.set("newer", forKey: "name")
    let report = try CacheImport(from: kind.source(place)).dryRun(for: cache.withoutMemory)
    #expect(report.taken == entries.count - 1 && report.present == 1 && report.isDryRun)
    #expect(try cache.count == 1)
  }

  @Test(arguments: StoreKind.all)
  func aLongValueIsRefusedAndNothingElse(_ kind: StoreKind) throws {
    let long = String(repeating: "x", count: 5_000)
    try kind.write(entries + [(key: "long", text: long)], place)
    let cache = try place.cache()
    var work = CacheImport(from: kind.source(place))
    work.options.maximumValueSize = 1_000
    let report = try work.run(into: cache)
    #expect(report.taken == entries.count && report.refused == 1)
    #expect(reasons(report) == ["long": .tooLarge] && report.refusalCounts == [.tooLarge: 1])
    #expect(try kind.read(cache, "long") == nil)
    work.options.maximumValueSize = 10_000
    #expect(try work.run(into: cache).taken == 1)
    #expect(try kind.read(cache, "long") == long)
  }

  @Test(arguments: StoreKind.all)
  func refusalsAreListedUpToALimit(_ kind: StoreKind) throws {
    _ = try write(kind, count: 20)
    var work = CacheImport(from: kind.source(place))
    work.options.maximumValueSize = 1
    work.options.listedRefusals = 3
    let report = try work.run(into: place.cache())
    #expect(report.refused == 20 && report.refusals.count == 3 && report.refusalCounts == [.tooLarge: 20])
  }

  @Test(arguments: StoreKind.all)
  func nothingAtThePathIsAnError(_ kind: StoreKind) throws {
    let cache = try place.cache()
    #expect(importErrorCode { try CacheImport(from: kind.source(place)).run(into: cache) } == .sourceNotFound)
  }

  @Test(arguments: StoreKind.all)
  func somethingElseAtThePathIsAnError(_ kind: StoreKind) throws {
    let source = try kind.foreign(place)
    let error = importError { try CacheImport(from: source).run(into: place.cache()) }
    #expect(error?.code == .foreignSource || error?.code == .damagedSource)
    #expect(error?.message.contains(place.store.lastPathComponent) == true)
    #expect(error?.report == nil)
  }

  @Test(arguments: StoreKind.all)
  func aFIFOAtThePathIsNotWaitedFor(_ kind: StoreKind) throws {
    #expect(mkfifo(place.store.path, 0o600) == 0)
    #expect(importErrorCode { try CacheImport(from: kind.source(place)).run(into: place.cache()) } == .foreignSource)
  }

  @Test(arguments: StoreKind.all)
  func aClosedCacheIsTheCachesFailure(_ kind: StoreKind) throws {
    try kind.write(entries, place)
    let cache = try place.cache()
    try cache.close()
    let error = importError { try CacheImport(from: kind.source(place)).run(into: cache) }
    #expect(error?.code == .cacheFailed && (error?.underlying as? CacheError)?.code == .closed)
    #expect(error?.report?.taken == 0)
  }

  @Test(arguments: StoreKind.all)
  func tasksImportAndAreCancelled(_ kind: StoreKind) async throws {
    _ = try write(kind, count: 600)
    let cache = try place.cache()
    let source = kind.source(place)
    let report = try await CacheImport(from: source).run(into: cache)
    #expect(report.taken == 600)
    try await cache.removeAll()
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await CacheImport(from: source).run(into: cache)
    }
    let partly = try await cancelled.value
    #expect(!partly.isComplete && partly.taken == 0)
  }

  @Test(arguments: StoreKind.all, [Durability.full, .fast])
  func everyDurabilityAndASmallJournalWillDo(_ kind: StoreKind, _ durability: Durability) throws {
    var entries = (0..<300).map { (key: "key \($0)", text: "value \($0)") }
    entries.append((key: "long", text: String(repeating: "y", count: 100_000)))
    try kind.write(entries, place)
    let cache = try place.cache {
      $0.durability = durability
      $0.disk.journalSize = 64 << 10
    }
    #expect(try CacheImport(from: kind.source(place)).run(into: cache).taken == 301)
    for (key, text) in entries { #expect(try kind.read(cache, key) == text) }
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
