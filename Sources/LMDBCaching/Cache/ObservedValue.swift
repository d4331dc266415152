public import Observation

/// The value under a key, tracked by Observation: a SwiftUI view that reads ``value``,
/// `withObservationTracking(_:onChange:)` and `Observations` are notified when any process writes, removes or trims the
/// entry, or it expires.
///
/// ```swift
/// let user = cache.observed(User.self, forKey: "user:42")
/// withObservationTracking { print(user.value) } onChange: { refresh() }
/// ```
///
/// Reading it reads the cache, and is as fresh as that. Notifications come on a thread of Swift's pool, soon after the
/// change or expiry, within 55 ms after another process's commit, up to a hundred times a second. The last change is
/// never missed. A change between the read and the end of the tracked closure is notified after that end: within 10 ms
/// and as long again as the closure went on after it, or an hour if that is less. (If the entry changes 64 times by
/// then, perhaps only with the next change.) It costs as much as ``LMDBCache/changes(withPrefix:bufferingLimit:)`` and
/// keeps the cache alive.
///
/// Threads: any.
public final class ObservedValue<Value: Codable & Sendable>: Observable, Sendable {
  /// The observed key.
  public let key: String
  /// The cache that is read.
  public let cache: LMDBCache
  private let observed: ObservedKey

  init(_ cache: LMDBCache, key: String) {
    self.key = key
    self.cache = cache
    observed = ObservedKey(cache, key: key)
  }

  /// The value, or `nil` if it is missing or unreadable, which is logged; ``read()`` throws the reason.
  public var value: Value? { cache.diskCache.answer(nil) { () throws(CacheError) in try read() } }

  /// Returns the value, or `nil` if it is missing.
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
