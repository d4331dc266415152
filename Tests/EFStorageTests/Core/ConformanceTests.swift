import EFStorageConformance
import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation
import TestSupport
import Testing

/// The rules of every storage, and those that need several threads.
@Suite(.serialized)
struct ConformanceTests {
  @Test(arguments: [false, true]) func cache(isWrittenThroughAnotherHandle: Bool) throws {
    _ = Failures()
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    let writer = try isWrittenThroughAnotherHandle ? directory.cache() : cache
    var conformance = EFStorageConformance<EFStorageLMDBCache<[Int]>>(
      storage: cache, other: try directory.cache("other"), contents: [[1], [], [2, 3]])
    conformance.writePast = { _, key, content in
      if let content { try writer.set(content, forKey: key) } else { try writer.withoutMemory.removeValue(forKey: key) }
    }
    conformance.writeUnreadable = { _, key in try writer.set("no numbers", forKey: key) }
    conformance.holdsAnything = { _, key in writer.containsObject(forKey: key) }
    #expect(conformance.violations() == [])
    // The check finds a broken rule.
    conformance.writePast = { _, _, _ in }
    #expect(conformance.violations().contains("A write past the reference is not seen."))
  }

  @Test func userDefaults() {
    _ = Failures()
    let (one, two) = (TemporaryDefaults(), TemporaryDefaults())
    var conformance = EFStorageConformance<EFStorageUserDefaults<Int>>(
      storage: one.defaults, other: two.defaults, contents: [1, -2, 0])
    conformance.writePast = { storage, key, content in
      if let content { storage.set(content, forKey: key) } else { storage.removeObject(forKey: key) }
    }
    conformance.writeUnreadable = { storage, key in storage.set("no number", forKey: key) }
    conformance.holdsAnything = { storage, key in storage.object(forKey: key) != nil }
    #expect(conformance.violations() == [])
  }

  /// A user's conversion gives no reason for nil.
  private struct Own: Equatable, LMDBCacheStorable, UserDefaultsStorable {
    func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .success("own") }
    static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Own? {
      userDefaults.string(forKey: key) == "own" ? Own() : nil
    }
    func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { .success(NSString(string: "own")) }
    static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Own? {
      (try? cache.object(forKey: key)) is NSString ? Own() : nil
    }
  }

  /// A read during a removal finds nothing, not an unreadable value.
  private func readsDuringRemovals<Ref: EFSingleInstanceStorageReference>(
    _ reference: Ref, _ content: Ref.Content
  ) where Ref.Content: Equatable & Sendable, Ref: Sendable {
    concurrently(3) { thread in
      var reference = reference
      for step in 0..<3_000 {
        do {
          if thread == 0 {
            reference.content = step % 2 == 0 ? content : nil
          } else if let found = try reference.loadContent(), found != content {
            Issue.record("\(found)")
          }
        } catch { Issue.record(error) }
      }
    }
  }

  @Test func readsDuringRemovals() throws {
    let (directory, temporary) = (try TemporaryDirectory(), TemporaryDefaults())
    let (cache, defaults) = (try directory.cache(), temporary.defaults)
    let failures = Failures(of: "race")
    readsDuringRemovals(EFStorageUserDefaultsRef<Int>.forKey("race", in: defaults), 5)
    readsDuringRemovals(EFStorageUserDefaultsRef<Own>.forKey("race", in: defaults), Own())
    readsDuringRemovals(EFStorageLMDBCacheRef<Int>.forKey("race", in: cache), 5)
    readsDuringRemovals(EFStorageLMDBCacheRef<Own>.forKey("race", in: cache), Own())
    #expect(failures.all.isEmpty)
  }

  /// A default must not replace another thread's write.
  private func defaultsBesideWrites<Wrapper: EFSingleInstanceStorageReferenceWrapper & SendableMetatype>(
    _ rounds: Int, _ make: @escaping @Sendable (String, Bool) -> Wrapper
  ) where Wrapper.Content == Int {
    for round in 0..<rounds {
      let key = "default.\(round)"
      let start = Guarded(0)
      concurrently(2) { thread in
        start { $0 += 1 }
        while start.current < 2 {}
        var property = make(key, thread == 1)
        if thread == 0 { property.wrappedValue = 1 } else { _ = property.wrappedValue }
      }
      #expect(make(key, false).content == 1)
    }
  }

  @Test func defaultsBesideWrites() throws {
    let (directory, temporary) = (try TemporaryDirectory(), TemporaryDefaults())
    let cache = try directory.cache()
    defaultsBesideWrites(60) { key, persists in
      EFStorageUserDefaults(wrappedValue: 2, forKey: key, in: temporary.defaults, persistDefaultContent: persists)
    }
    defaultsBesideWrites(2_000) { key, persists in
      EFStorageLMDBCache(wrappedValue: 2, forKey: key, in: cache, persistDefaultContent: persists)
    }
  }

  @Test func levelsOfNil() throws {
    let failures = Failures(of: "nested")
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    let temporary = TemporaryDefaults()
    let cached = EFStorageLMDBCacheRef<Int??>.forKey("nested", in: cache)
    let kept = EFStorageUserDefaultsRef<Int??>.forKey("nested", in: temporary.defaults)
    // The inner nil would be read as the outer one.
    for content in [Int??.some(1), .some(.none)] {
      cached.content = .some(content)
      kept.content = .some(content)
    }
    #expect(failures.kinds == [.conversion, .conversion])
    #expect(cached.lastFailure?.kind == .conversion && kept.lastFailure?.kind == .conversion)
    // A successful read ends the failure.
    #expect(cached.content == .some(.some(.some(1))) && kept.content == .some(.some(.some(1))))
    #expect(cached.lastFailure == nil && kept.lastFailure == nil)
    cached.content = .some(.none)
    #expect(cached.content == .some(.none))

    let entries = EFStorageUserDefaultsRef<[String: Int?]>.forKey("nested", in: temporary.defaults)
    entries.content = ["a": 1, "b": nil]
    #expect(failures.kinds == [.conversion, .conversion, .conversion])
    let cachedEntries = EFStorageLMDBCacheRef<[String: Int?]>.forKey("entries", in: cache)
    cachedEntries.content = ["a": 1, "b": nil]
    cache.memory.removeAll()
    #expect(cachedEntries.content == ["a": 1, "b": nil])
  }
}
