import Hummingbird
import LMDBCaching
import LMDBCachingRedis
import ServiceLifecycleTestKit
import Testing

@testable import FleetServer

/// Two servers of a fleet with separate directories over one Redis.
@Suite struct FleetServerTests {
  let redis: RedisProcess
  private let scratch = (a: Scratch(), b: Scratch())

  init() throws { redis = try RedisProcess() }

  private struct NotInTime: Error {}

  private struct Server: Sendable {
    let cache: DistributedCache
    let server: LiveServer

    func page(_ number: Int) async throws -> String { try await server.send("GET", "/page/\(number)").text }

    func put(_ text: String, _ number: Int) async throws -> Int {
      try await server.send("PUT", "/page/\(number)", text).status
    }

    func delete(_ number: Int) async throws -> Int { try await server.send("DELETE", "/page/\(number)").status }

    func health() async throws -> String { try await server.send("GET", "/health").text }
  }

  private func cache(_ scratch: Scratch) throws -> DistributedCache {
    var configuration = DistributedCacheConfiguration()
    // Generous, since tests share the machine.
    configuration.timeLimit = .seconds(300)
    configuration.leaseDuration = .seconds(3_600)
    configuration.loadWaitLimit = .seconds(3_600)
    let local = try scratch.cache { $0.loadWaitLimit = .seconds(3_600) }
    return try DistributedCache(local: local, remote: redis.tier(), configuration: configuration)
  }

  private func withServer(
    _ name: String, _ scratch: Scratch, _ body: @escaping @Sendable (Server) async throws -> Void
  ) async throws {
    let cache = try cache(scratch)
    let router = FleetServer.router(cache, name: name, delay: .milliseconds(1), lifetime: .seconds(36_000))
    try await LiveServer.with(router) { server in
      try await eventually { cache.health.isSettled }
      try await body(Server(cache: cache, server: server))
    }
    await cache.close()
    try await cache.local.close()
  }

  private func withServers(_ body: @escaping @Sendable (_ a: Server, _ b: Server) async throws -> Void) async throws {
    try await withServer("a", scratch.a) { a in
      try await withServer("b", scratch.b) { b in try await body(a, b) }
    }
  }

  /// Waits for a condition, five minutes at most.
  private func eventually(_ condition: () async throws -> Bool) async throws {
    let limit = ContinuousClock.now + .seconds(300)
    while try await !condition() {
      guard ContinuousClock.now < limit else { throw NotInTime() }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  @Test func pagesAreMadeOnce() async throws {
    try await withServers { a, b in
      let pages = try await (a.page(1), b.page(1))
      #expect(pages == ("<h1>Page 1</h1><p>Made by a.</p>", pages.0))
      #expect(b.cache.statistics.hits == 1)
      #expect(try await b.health().contains("\"isHealthy\":true"))
    }
  }

  @Test func oneServerMakesThePageThatBothAreAskedFor() async throws {
    try await withServers { a, b in
      for number in 1...20 {
        async let first = a.page(number)
        async let second = b.page(number)
        let pages = try await (first, second)
        #expect(pages.0 == pages.1)
      }
    }
  }

  @Test func aNewTextReachesTheOther() async throws {
    try await withServers { a, b in
      _ = try await (a.page(1), b.page(1))
      #expect(try await a.put("new", 1) == 204)
      #expect(try await a.page(1) == "new")
      try await eventually { try await b.page(1) == "new" }
      #expect(try await b.delete(1) == 204)
      #expect(try await b.page(1) == "<h1>Page 1</h1><p>Made by b.</p>")
      try await eventually { try await a.page(1) == "<h1>Page 1</h1><p>Made by b.</p>" }
    }
  }

  @Test func theyGoOnWithoutRedis() async throws {
    try await withServers { a, b in
      _ = try await (a.page(1), b.page(1))
      redis.kill()
      #expect(try await a.page(1) == "<h1>Page 1</h1><p>Made by a.</p>")
      #expect(try await b.page(1) == "<h1>Page 1</h1><p>Made by a.</p>")
      #expect(try await b.page(2) == "<h1>Page 2</h1><p>Made by b.</p>")
      #expect(try await a.put("new", 3) == 503)
      try await eventually { try await b.health().contains("\"isInTouch\":false") }
    }
  }

  @Test func bothTiersAreClosedWithTheServer() async throws {
    let cache = try cache(scratch.a)
    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup { group in
        group.addTask { try await FleetCacheService(cache: cache).run() }
        trigger.triggerGracefulShutdown()
        try await group.waitForAll()
      }
    }
    await #expect(throws: RemoteTierError.self) { try await cache.removeValue(forKey: "key") }
    #expect(throws: CacheError.self) { try cache.local.set(1, forKey: "key") }
  }
}
