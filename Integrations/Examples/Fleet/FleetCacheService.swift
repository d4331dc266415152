import LMDBCaching
import LMDBCachingRedis
import ServiceLifecycle

/// Closes a fleet's cache when the server shuts down, in order or by cancellation: first what speaks with Redis, and then the
/// tiers of this machine below it.
struct FleetCacheService: Service {
  let cache: DistributedCache

  func run() async throws {
    // Also where the task is cancelled.
    do { try await gracefulShutdown() } catch {}
    await cache.close()
    try await cache.local.close()
  }
}
