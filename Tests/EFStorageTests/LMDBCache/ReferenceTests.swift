import EFStorageLMDBCache
import Foundation
@testable import LMDBCaching
import Observation
import Storez
import TestSupport
import Testing

private enum Here { struct Item: Codable, Equatable, LMDBCacheStorable { var a: Int } }
private enum There { struct Item: Codable, Equatable, LMDBCacheStorable { var b: Int } }

struct ReferenceTests {
  let directory: TemporaryDirectory
  let cache: LMDBCache

  init() throws {
    directory = try TemporaryDirectory()
    cache = try directory.cache()
  }

  @Test func seesEveryWayToChangeAnEntry() throws {
    let reference = EFStorageLMDBCacheRef<Int>.forKey("key", in: cache)
    let wrapper = EFStorageLMDBCache(wrappedValue: -1, forKey: "key", in: cache)
    let changes: [(Int?, () throws -> Void)] = [
      (1, { try cache.set(1, forKey: "key") }),
      (nil, { try cache.removeValue(forKey: "key") }),
      (2, { try cache.withoutMemory.set(2, forKey: "key") }),
      (nil, { try cache.withoutMemory.removeValue(forKey: "key") }),
      (3, { try cache.write { $0.set(3, forKey: "key") } }),
      (nil, { try cache.removeAll() }),
      (4, { try cache.setObject(CacheValue.make(4), forKey: "key") }),
      (nil, { try cache.removeAll(.prefix("k")) }),
      (6, { wrapper.wrappedValue = 6 }),
      (nil, { reference.content = nil }),
      (7, { cache.efStorage.key = 7 }),
      (7, { cache.memory.removeAll() }),
      (nil, { try cache.trim(to: .count(0)) }),
      (8, { _ = try cache.value(Int.self, forKey: "key") { _ in 8 } }),
      (nil, { try cache.disk.trim(to: .count(0)) }),
    ]
    for (number, (expected, change)) in changes.enumerated() {
      try change()
      #expect(reference.content == expected, "change \(number)")
      #expect(wrapper.wrappedValue == expected ?? -1, "change \(number)")
    }
  }

  @Test func eachContentIsSeenThatFollows() async throws {
    @EFStorageLMDBCache(forKey: "theme", in: cache) var theme: String = "light"
    var contents = $theme.values.makeAsyncIterator()
    #expect(try await contents.next() == .some(nil))
    theme = "dark"
    #expect(try await contents.next() == "dark")
    try cache.set("blue", forKey: "theme")
    #expect(try await contents.next() == "blue")
    try cache.set(7, forKey: "theme")
    await #expect(throws: EFStorageFailure.self) { try await contents.next() }
    $theme.content = nil
    #expect(try await contents.next() == .some(nil))
    #expect($theme === _theme._ref && $theme.lastFailure == nil)
    try await cache.close()
    #expect(try await contents.next() == nil)
  }

  @Test func anObservedPropertyIsTracked() async throws {
    let property = EFStorageLMDBCache(wrappedValue: "light", forKey: "theme", in: cache, isObserved: true)
    let writes: [(String, () throws -> Void)] = [
      ("dark", { property.wrappedValue = "dark" }), ("blue", { property.projectedValue.content = "blue" }),
      ("red", { try cache.set("red", forKey: "theme") }), ("light", { try cache.removeValue(forKey: "theme") }),
    ]
    for (expected, write) in writes {
      let isChanged = Guarded(false)
      withObservationTracking {
        _ = property.wrappedValue
      } onChange: {
        isChanged { $0 = true }
      }
      try write()
      #expect(try await becomesTrue { isChanged.current })
      #expect(property.wrappedValue == expected)
    }
    try await cache.close()
  }

  @Test func anUpdateIsOneChange() async throws {
    let clock = ManualClock()
    let cache = try directory.cache("updated") { $0.clock = .manual(clock) }
    let reference = EFStorageLMDBCacheRef<[String]>.forKey("key", in: cache)
    #expect(try reference.update { _ in } == nil && reference.update { $0 = ["a"] } == ["a"])
    try reference.store(["a"], expires: .after(.seconds(10)))
    #expect(try reference.update { $0?.append("b") } == ["a", "b"])
    #expect(throws: CancellationError.self) {
      try reference.update { content in
        content = nil
        throw CancellationError()
      }
    }
    #expect(reference.content == ["a", "b"])
    clock.advance(by: .seconds(11))
    #expect(reference.content == nil)
    // A new content does not inherit the time of the expired one.
    #expect(try reference.update { $0 = ["c"] } == ["c"] && reference.content == ["c"])

    let property = EFStorageLMDBCache(wrappedValue: 5, forKey: "number", in: cache, expires: .after(.seconds(10)))
    #expect(try property.update { $0 += 1 } == 6)
    clock.advance(by: .seconds(11))
    #expect(property.wrappedValue == 5)
    // Null is a content, and objects are not values of the cache.
    let optional = EFStorageLMDBCache<Int?>(wrappedValue: 5, forKey: "optional", in: cache)
    #expect(try optional.update { $0 = nil } == nil && optional.wrappedValue == nil)
    let object = EFStorageLMDBCache<NSString>(
      wrappedValue: "none", forKey: "object", in: cache, expires: .after(.seconds(10)))
    #expect(try object.update { $0 = "text" } == "text" && object.wrappedValue == "text")
    clock.advance(by: .seconds(11))
    #expect(object.wrappedValue == "none")
    // A member is set by an update, whose failure is reported.
    let members = EFStorageLMDBCacheRef<Point>.forKey("members", in: cache)
    members.content = Point(x: 1)
    members.x = 2
    #expect(members.content?.x == 2 && members.lastFailure == nil)
    try await cache.close()
    members.x = 3
    #expect(members.lastFailure != nil)
  }

  struct Point: Codable, Sendable, LMDBCacheStorable { var x: Int }

  @Test func anotherProcessWrites() throws {
    let process = try ChildProcess(
      "EFStorageTestProcess", ["serve-cache", directory.url.appendingPathComponent("cache").path])
    #expect(process.run("get") == "default")
    // Its write comes after the check, and stays.
    let reference = EFStorageLMDBCacheRef<String>.forKey("shared", in: cache)
    let isStored = try reference.storeContentIfAbsent {
      #expect(process.run("set theirs") == "done")
      return "mine"
    }
    #expect(!isStored && reference.content == "theirs")
    let count = EFStorageLMDBCache(wrappedValue: 0, forKey: "count", in: cache)
    process.send("add 200")
    for _ in 0..<200 { try count.update { $0 += 1 } }
    #expect(process.readLine() == "done")
    #expect(count.wrappedValue == 400)
  }

  /// Runs a separate program, since only optimized code can tear a read.
  @Test func readsAreWholeWhileAnotherThreadWrites() throws {
    let process = try ChildProcess(
      "EFStorageTestProcess", ["storm", directory.url.appendingPathComponent("storm").path, "2000"])
    #expect(process.readRemaining() == ["calm"])
  }

  /// Repeated reads from the reference count as uses of the entry.
  @Test func readsCountAsAccesses() throws {
    let clock = ManualClock()
    let cache = try directory.cache("recency") { $0.clock = .manual(clock) }
    let reference = EFStorageLMDBCacheRef<Int>.forKey("hot", in: cache)
    reference.content = 1
    try cache.set(2, forKey: "cold")
    for _ in 0..<10 {
      clock.advance(by: .seconds(60))
      cache.store.maintenance.enqueue()
      // Jobs run in order, so this waits for earlier ones.
      try cache.store.writer.run {}
      #expect(reference.content == 1)
    }
    try cache.trim(to: .age(.seconds(120)))
    #expect(try cache.contains("hot") && !cache.contains("cold"))
  }

  @Test func withoutACache() async throws {
    let failures = Failures(of: "nowhere")
    let reference = EFStorageLMDBCacheRef<Int>.forKey("nowhere", in: nil)
    // It would look like a content that was never set.
    let unread = #expect(throws: EFStorageFailure.self) { try reference.loadContent() }
    #expect((unread?.underlying as? CacheError)?.code == .storageFailed && unread?.kind == .loading)
    reference.content = 1
    #expect(throws: EFStorageFailure.self) { try reference.storeContentIfAbsent { 1 } }
    #expect(reference.content == nil && failures.kinds == [.loading, .storage, .storage, .loading])
    #expect(throws: EFStorageFailure.self) { try reference.update { $0 = 1 } }
    var contents = reference.values.makeAsyncIterator()
    await #expect(throws: EFStorageFailure.self) { try await contents.next() }
    #expect(EFStorageLMDBCache(wrappedValue: 5, forKey: "nowhere", in: nil).wrappedValue == 5)
  }

  /// A cache that was rebuilt after damage has lost its contents. A sound one reports nothing.
  @Test func aReferenceReportsThatItsContentIsLost() throws {
    let (key, other) = ("lost \(UUID())", "default \(UUID())")
    let (failures, others) = (Failures(of: key), Failures(of: other))
    for key in [key, other] { EFStorageLMDBCache(wrappedValue: 0, forKey: key, in: cache).wrappedValue = 42 }
    try cache.close()
    #expect(failures.all.isEmpty && others.all.isEmpty)
    let file = directory.url.appendingPathComponent("cache/data.mdb")
    try Data(contentsOf: file).prefix(9_000).write(to: file)
    let rebuilt = try directory.cache()
    let reference = EFStorageLMDBCacheRef<Int>.forKey(key, in: rebuilt)
    #expect(failures.kinds == [.loss])
    #expect(reference.content == nil && reference.lastFailure?.kind == .loss)
    #expect((reference.lastFailure?.underlying as? CacheError)?.code == .rebuilt)
    reference.content = 1
    #expect(reference.lastFailure == nil && reference.content == 1 && failures.kinds == [.loss])
    // A default is not stored silently either.
    let wrapper = EFStorageLMDBCache(wrappedValue: 7, forKey: other, in: rebuilt, persistDefaultContent: true)
    #expect(try others.kinds == [.loss] && wrapper.wrappedValue == 7 && rebuilt.value(Int.self, forKey: other) == 7)
    try rebuilt.close()
  }

  /// Typed keys, and properties that name no cache, share one that cache cleaners leave alone. Uses a child process,
  /// because the folder is looked up once.
  @Test func theDefaultsOfAnApplicationAreOneCache() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      setenv("XDG_DATA_HOME", directory.url.path, 1)
      setenv("HOME", directory.url.path, 1)
      let visits = Key<GlobalNamespace, Int>(id: "visits", defaultValue: 0)
      let property = EFStorageLMDBCacheRef<Int>.forKey("visits")
      property.content = 1
      let (store, other) = (try LMDBStore(), try LMDBStore(name: "other"))
      #expect(store.cache.directory.path.contains(directory.url.lastPathComponent))
      #expect(store.get(visits) == 1)
      store.set(visits, value: 2)
      other.set(visits, value: 3)
      #expect(other.cache.directory.lastPathComponent == "other")
      #expect(property.content == 2 && other.get(visits) == 3 && store.get(visits) == 2)
    }
  }

  @Test func defaultCacheCanBeSet() throws {
    LMDBCache.defaultForEFStorage = cache
    defer { LMDBCache.defaultForEFStorage = nil }
    LMDBCache.efStorage.number = 42
    #expect(try cache.value(forKey: "number") == 42)
    let reference: EFStorageLMDBCacheRef<Int> = LMDBCache.efStorage.number
    let same: EFStorageLMDBCacheRef<Int> = cache.efStorage.number
    #expect(reference === same && reference.content == 42)
    @EFStorageLMDBCache(forKey: "number") var number: Int?
    #expect(number == 42)
    #expect(LMDBCache.efStorage.number as Int? == 42)
  }

  @Test func typesOfOneNameAreTwoTypes() {
    _ = Failures()
    let here = EFStorageLMDBCacheRef<Here.Item>.forKey("item", in: cache)
    let there = EFStorageLMDBCacheRef<There.Item>.forKey("item", in: cache)
    #expect("\(Here.Item.self)" == "\(There.Item.self)")
    #expect(ObjectIdentifier(here) != ObjectIdentifier(there))
    here.content = Here.Item(a: 1)
    #expect(here.content == Here.Item(a: 1) && there.content == nil)
    // Keys are bytes, although `==` treats these as equal.
    let composed = EFStorageLMDBCacheRef<Int>.forKey("caf\u{e9}", in: cache)
    let decomposed = EFStorageLMDBCacheRef<Int>.forKey("cafe\u{301}", in: cache)
    composed.content = 1
    decomposed.content = 2
    #expect(composed !== decomposed && composed.content == 1 && decomposed.content == 2)
  }

  /// No lock is held while a reference is made.
  @Test func makingAReferenceMayMakeOthers() {
    struct Outer: Codable, LMDBCacheStorable {
      static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? {
        _ = EFStorageLMDBCacheRef<Int>.forKey(key, in: cache).content
        return Outer()
      }
    }
    let isRead = finishes { [cache] in _ = EFStorageLMDBCacheRef<Outer>.forKey("outer", in: cache).content }
    #expect(isRead)
  }
}
