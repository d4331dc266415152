import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation
import TestSupport
import Testing

/// Meant for the thread sanitizer too.
@Suite(.serialized)
struct EFStorageStormTests {
  /// A thread never sees an older value than before, through the reference or the cache.
  @Test func neverGoesBack() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    let reference = EFStorageLMDBCacheRef<Int>.forKey("counter", in: cache)
    reference.content = 0
    concurrently(4) { thread in
      if thread == 0 {
        for number in 1...10_000 { reference.content = number }
        return
      }
      var last = 0
      while last < 10_000 {
        for read in [reference.content, try? cache.value(Int.self, forKey: "counter"), reference.content] {
          guard let read, read >= last else {
            Issue.record("\(read as Any) after \(last)")
            return
          }
          last = read
        }
      }
    }
  }

  struct Counters: Sendable {
    @EFStorageLMDBCache var cached: Int
    @EFStorageLMDBCache var list: [Int: Int]
    @EFStorageUserDefaults var stored: Int
    let reference: EFStorageLMDBCacheRef<Int>

    init(_ cache: LMDBCache, _ defaults: UserDefaults) {
      _cached = EFStorageLMDBCache(wrappedValue: 0, forKey: "cached", in: cache)
      _list = EFStorageLMDBCache(wrappedValue: [:], forKey: "list", in: cache)
      _stored = EFStorageUserDefaults(wrappedValue: 0, forKey: "stored", in: defaults)
      reference = .forKey("reference", in: cache)
    }
  }

  /// Covers every way to make a change that depends on the old content.
  @Test func noChangeIsLost() throws {
    let (directory, defaults) = (try TemporaryDirectory(), TemporaryDefaults())
    let counters = Counters(try directory.cache(), defaults.defaults)
    concurrently(8) { thread in
      for _ in 0..<100 {
        counters.cached += 1
        counters.list[thread, default: 0] += 1
        counters.stored += 1
        do {
          try counters.reference.update { $0 = ($0 ?? 0) + 1 }
          try counters.$cached.update { $0 = ($0 ?? 0) + 1 }
          try counters.$stored.update { $0 = ($0 ?? 0) + 1 }
        } catch { Issue.record(error) }
      }
    }
    #expect(counters.cached == 1_600 && counters.reference.content == 800 && counters.stored == 1_600)
    #expect(counters.list.values.allSatisfy { $0 == 100 } && counters.list.count == 8)
  }

  /// Nested changes of two properties in opposite orders, and a change that continues on another thread.
  @Test func changesOfTwoPropertiesEnd() async throws {
    let (directory, defaults) = (try TemporaryDirectory(), TemporaryDefaults())
    let counters = Counters(try directory.cache(), defaults.defaults)
    func change(_ value: inout Int) async {
      await Task.yield()
      value += 1
    }
    await change(&counters.cached)
    #expect(counters.cached == 1)
    let haveEnded = finishes {
      concurrently(2) { thread in
        if thread == 0 {
          swap(&counters.cached, &counters.stored)
        } else {
          swap(&counters.stored, &counters.cached)
        }
      }
    }
    #expect(haveEnded)
  }

  @Test func threadsGetTheSameReference() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    for round in 0..<50 {
      let found = Guarded<[ObjectIdentifier: EFStorageLMDBCacheRef<Int>]>([:])
      concurrently(4) { _ in
        let reference = EFStorageLMDBCacheRef<Int>.forKey("round\(round)", in: cache)
        found { $0[ObjectIdentifier(reference)] = reference }
      }
      #expect(found.current.count == 1)
    }
  }
}
