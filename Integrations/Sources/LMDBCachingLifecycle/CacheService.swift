public import LMDBCaching
public import ServiceLifecycle

/// Closes a cache when a `ServiceGroup` shuts down or is cancelled: earlier writes are committed, and the next opening
/// has nothing to replay.
///
/// ```swift
/// try await ServiceGroup(services: [CacheService(cache), server], logger: logger).run()
/// ```
///
/// A group shuts its services down from the last to the first: name the cache before the services that use it.
public struct CacheService: Service {
  private let cache: LMDBCache

  public init(_ cache: LMDBCache) { self.cache = cache }

  /// Returns when the group has shut down and the cache is closed.
  ///
  /// - Throws: The error of `LMDBCache.close()` if a write could not be committed.
  public func run() async throws {
    // Also after a cancellation.
    do { try await gracefulShutdown() } catch {}
    try await cache.close()
  }
}
