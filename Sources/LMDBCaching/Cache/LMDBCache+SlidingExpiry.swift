import Logging
import Platform

extension LMDBCache {
  // MARK: Sliding expiry

  /// Returns the value under `key`, or `nil` if there is none, and lets its entry live on: until `lifetime` from now.
  ///
  /// So that not every read is a write, the expiry moves when it is earlier than that by a tenth of `lifetime`: the entry
  /// is there for nine tenths of it at least after the last such read. An entry that expires later, or never, stays as it
  /// is. Where the expiry cannot be moved, since the disk is full, say, the value is returned all the same.
  ///
  /// - Parameter lifetime: More than zero.
  /// - Throws: as ``value(_:forKey:)``, and `.invalidArgument` for a lifetime that is not more than zero.
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, slidingExpiry lifetime: Duration
  ) throws(CacheError) -> V? {
    try DiskCache.checkLifetime(lifetime)
    guard let value = try value(type, forKey: key) else { return nil }
    diskCache.extend(key, by: lifetime, through: memoryCache)
    return value
  }
}

extension DiskCache {
  /// See ``LMDBCache/value(_:forKey:slidingExpiry:)``.
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, slidingExpiry lifetime: Duration
  ) throws(CacheError) -> V? {
    try Self.checkLifetime(lifetime)
    guard let value = try value(type, forKey: key) else { return nil }
    extend(key, by: lifetime, through: nil)
    return value
  }

  fileprivate static func checkLifetime(_ lifetime: Duration) throws(CacheError) {
    if lifetime > .zero { return }
    throw CacheError(.invalidArgument, "A sliding expiry is more than zero; \(lifetime) is not. Remove what is to go.")
  }

  /// Has an entry that was read live on.
  fileprivate func extend(_ key: String, by lifetime: Duration, through memory: MemoryTier?) {
    let length = lifetime.clampedNanoseconds
    let due = store.clock.now.addingClamped(length - length / 10)
    do throws(CacheError) {
      // The common case.
      if let memory, let expires = CacheKey.with(key, { memory.expires($0) }), expires >= due { return }
      try touch(forKey: key, expires: .after(lifetime), unlessAt: due, through: memory)
    } catch {
      events.log(
        .debug, "cache entry not extended",
        ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
    }
  }
}
