public import Observation

/// The value under a key, tracked by Observation: a SwiftUI view that reads ``value``, or whoever reads it within
/// `withObservationTracking(_:onChange:)` or `Observations`, is told when the entry is written, removed, trimmed or expires,
/// by this process or another one.
///
/// ```swift
/// let user = cache.observed(User.self, forKey: "user:42")
/// withObservationTracking { print(user.value) } onChange: { refresh() }
/// ```
///
/// Reading it reads the cache: it is never older than what the cache returns. A change, or an expiry, is told a moment after
/// it, on a thread of Swift's pool, when another process makes it within 55 ms after its commit; and no more than a hundred
/// times a second. The last change is never missed. One that comes after the value was read, and before the closure has
/// ended that Observation tracks, can be told when it has ended only, and is: within 10 ms and as long again as it went
/// on since, or an hour if that is less. (If the entry changes 64 times meanwhile, perhaps with the next change only.)
/// It costs what an observer of changes costs: see ``LMDBCache/changes(withPrefix:bufferingLimit:)``. It keeps the
/// cache alive.
///
/// Threads: any.
public final class ObservedValue<Value: Codable & Sendable>: Observable, Sendable {
  /// What is observed.
  public let key: String
  /// Where.
  public let cache: LMDBCache
  private let observed: ObservedKey

  init(_ cache: LMDBCache, key: String) {
    self.key = key
    self.cache = cache
    observed = ObservedKey(cache, key: key)
  }

  /// The value, or `nil` if there is none, or none that can be read, which is logged: ``read()`` tells why.
  public var value: Value? { cache.diskCache.answer(nil) { () throws(CacheError) in try read() } }

  /// The value, or `nil` if there is none.
  ///
  /// - Throws: as `value(forKey:)`.
  public func read() throws(CacheError) -> Value? {
    _ = observed.moment
    return try cache.value(Value.self, forKey: key)
  }
}

extension LMDBCache {
  /// The value under `key` as an object that Observation tracks. Each call makes one; keep it as long as it is read.
  public func observed<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) -> ObservedValue<V> {
    ObservedValue(self, key: key)
  }
}
