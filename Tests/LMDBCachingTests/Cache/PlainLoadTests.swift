import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// The forms of `value` without options use the cache's.
@Suite struct PlainLoadTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  struct Failure: Error {}

  private func open(_ change: (inout LoadOptions) -> Void) throws -> LMDBCache {
    var options = LoadOptions(lifetime: .seconds(10))
    change(&options)
    return try directory.open {
      $0.clock = .manual(clock)
      $0.loadOptions = options
    }
  }

  private func value(
    _ cache: LMDBCache, isTask: Bool, options: LoadOptions? = nil,
    load: @escaping @Sendable () throws -> Int
  ) async throws -> Int {
    if isTask {
      return try await cache.value(Int.self, forKey: "key", options: options) {
        _ async throws -> Int in try load()
      }
    }
    return try sync { try cache.value(Int.self, forKey: "key", options: options) { _ in try load() } }
  }

  // Keeps the compiler from choosing the asynchronous form.
  private func sync<R>(_ body: () throws -> R) throws -> R { try body() }

  @Test(arguments: [false, true]) func theLifetimeCostAndTags(_ isTask: Bool) async throws {
    let cache = try open {
      $0.cost = 7
      $0.tags = ["a"]
    }
    #expect(try await value(cache, isTask: isTask) { 1 } == 1)
    let entry = try #require(try cache.entry(forKey: "key"))
    #expect(entry.cost == 7)
    #expect(entry.expiration?.timeIntervalSince(clock.date) == 10)
    clock.advance(by: .seconds(10))
    #expect(try await value(cache, isTask: isTask) { 2 } == 2)
    // Options of the call take precedence.
    try cache.removeValue(forKey: "key")
    var options = LoadOptions(lifetime: .seconds(50))
    (options.cost, options.tags) = (3, ["a"])
    #expect(try await value(cache, isTask: isTask, options: options) { 3 } == 3)
    let other = try #require(try cache.entry(forKey: "key"))
    #expect(other.cost == 3)
    #expect(other.expiration?.timeIntervalSince(clock.date) == 50)
    try await cache.removeAll(.tag("a"))
    #expect(try cache.value(Int.self, forKey: "key") == nil)
    try await cache.close()
  }

  @Test(arguments: [false, true]) func aStaleValueIsServedWhileItIsLoaded(_ isTask: Bool) async throws {
    let cache = try open { $0.staleWhileRevalidate = .seconds(5) }
    #expect(try await value(cache, isTask: isTask) { 1 } == 1)
    clock.advance(by: .seconds(12))
    #expect(try await value(cache, isTask: isTask) { 2 } == 1)
    #expect(try await becomesTrue(within: .seconds(600)) { try cache.value(Int.self, forKey: "key") == 2 })
    #expect(cache.statistics.staleServed == 1 && cache.statistics.refreshes == 1)
    try await cache.close()
  }

  @Test(arguments: [false, true]) func anOldValueIsServedWhileTheSourceFails(_ isTask: Bool) async throws {
    let cache = try open { $0.failSafe = .seconds(100) }
    #expect(try await value(cache, isTask: isTask) { 1 } == 1)
    clock.advance(by: .seconds(20))
    #expect(try await value(cache, isTask: isTask) { throw Failure() } == 1)
    clock.advance(by: .seconds(100))
    await #expect(throws: Failure.self) { try await value(cache, isTask: isTask) { throw Failure() } }
    try await cache.close()
  }

  @Test(arguments: [false, true]) func aSlowSourceIsNotWaitedForForEver(_ isTask: Bool) async throws {
    let cache = try open { $0.timeLimit = .milliseconds(20) }
    let isReleased = Guarded(false)
    let code = await errorCode {
      try await value(cache, isTask: isTask) {
        _ = eventually { isReleased.current }
        return 1
      }
    }
    #expect(code == .loadTimedOut)
    isReleased { $0 = true }
    #expect(try await becomesTrue(within: .seconds(600)) { try cache.value(Int.self, forKey: "key") == 1 })
    try await cache.close()
  }

  @Test(arguments: [false, true]) func whatIsAskedForIsLoadedBeforeItExpires(_ isTask: Bool) async throws {
    let cache = try open { $0.refreshAhead = 0.5 }
    #expect(try await value(cache, isTask: isTask) { 1 } == 1)
    clock.advance(by: .seconds(6))
    #expect(try await value(cache, isTask: isTask) { 2 } == 1)
    #expect(try await becomesTrue(within: .seconds(600)) { try cache.value(Int.self, forKey: "key") == 2 })
    try await cache.close()
  }
}
