import LMDBCaching
import LMDBCachingLifecycle
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite struct LifecycleTests {
  let scratch = Scratch()

  /// Uses the cache until it is shut down, and then once more.
  private struct User: Service {
    let cache: LMDBCache

    func run() async throws {
      do { try await gracefulShutdown() } catch {}
      try cache.set("last", forKey: "key")
    }
  }

  private func expectClosed(_ cache: LMDBCache) async throws {
    #expect(throws: CacheError.self) { try cache.set(1, forKey: "key") }
    let again = try scratch.cache()
    #expect(again.statistics.replayedWrites == 0)
    #expect(try again.value(String.self, forKey: "key") == "last")
    try await again.close()
  }

  @Test func itIsClosedAfterThoseThatUseIt() async throws {
    let cache = try scratch.cache()
    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup { group in
        group.addTask {
          try await ServiceGroup(
            services: [CacheService(cache), User(cache: cache)], logger: Logger(label: "test")
          ).run()
        }
        try cache.set("first", forKey: "key")
        trigger.triggerGracefulShutdown()
        try await group.waitForAll()
      }
    }
    try await expectClosed(cache)
  }

  @Test func itIsClosedWhenItIsCancelled() async throws {
    let cache = try scratch.cache()
    try cache.set("last", forKey: "key")
    let task = Task { try await CacheService(cache).run() }
    task.cancel()
    try await task.value
    try await expectClosed(cache)
  }
}
