import LMDBCaching
import LMDBCachingRedis
import ServiceLifecycle

/// Closes a fleet's cache when the server shuts down or is cancelled: first the connections to Redis, then local tiers.
struct FleetCacheService: Service {
  let cache: DistributedCache

  func run() async throws {
    // Also after a cancellation.
    do { try await gracefulShutdown() } catch {}
    await cache.close()
    try await cache.local.close()
  }
}
