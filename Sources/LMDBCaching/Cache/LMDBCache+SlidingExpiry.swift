import Logging
import Platform

extension LMDBCache {
  // MARK: Sliding expiry

  /// Returns the value under `key`, or `nil` if it is missing, and extends its life to `lifetime` from now.
  ///
  /// To save writes, the expiry moves only if that gains a tenth of `lifetime`, so the entry lives for at least nine
  /// tenths of it after its last such read. An entry that expires later, or never, is unchanged. If the expiry cannot
  /// be moved (the disk is full, for example), the value is still returned.
  ///
  /// - Parameter lifetime: More than zero.
  /// - Throws: as ``value(_:forKey:)``, and `.invalidArgument` for a lifetime of zero or less.
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
