public import LMDBCaching
public import ServiceLifecycle

/// Closes a cache when a `ServiceGroup` shuts down, in order or by cancellation: what was written is committed then, and
/// the next opening has nothing to replay.
///
/// ```swift
/// try await ServiceGroup(services: [CacheService(cache), server], logger: logger).run()
/// ```
///
/// A group shuts its services down from the last to the first: name the cache before those that use it.
public struct CacheService: Service {
  private let cache: LMDBCache

  public init(_ cache: LMDBCache) { self.cache = cache }

  /// Returns when the group shuts down and the cache is closed.
  ///
  /// - Throws: as `LMDBCache.close()`: what could not be committed.
  public func run() async throws {
    // Also where the task is cancelled.
    do { try await gracefulShutdown() } catch {}
    try await cache.close()
  }
}
