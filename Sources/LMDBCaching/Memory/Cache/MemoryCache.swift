/// A cache in memory with adaptive S3-FIFO eviction (Yang et al., SOSP 2023).
///
/// Any thread may use it, and threads rarely wait for each other. A `String` key is its UTF-8 bytes: a composed and a
/// decomposed "é" are two keys. Limits hold whenever a call returns; an expired value is never returned. By default it
/// holds a million values; `MemoryCache(configuration: .unlimited)` lifts that. Values are released outside the cache's
/// locks, by default on a background queue, so their `deinit` may use the cache. A key's `==` and `hash(into:)` run
/// while a part of the cache is locked: they must not use it, nor wait for a thread that does.
///
/// ```swift
/// let cache = MemoryCache<String, Image>(countLimit: 1_000)
/// cache.set(image, forKey: "icon", expiresIn: .seconds(60))
/// let image = cache.value(forKey: "icon")
/// ```
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline package let store: MemoryStore<Key, Value>
  let pressure: MemoryPressure

  /// - Parameters:
  ///   - countLimit: The maximum number of values, a million by default; 0 holds none. `Int.max` or a negative number
  ///     means no limit; all limits treat negative numbers so.
  ///   - costLimit: The maximum total of the costs given to ``set(_:forKey:expiresIn:cost:)``.
  ///   - ageLimit: How long after its last access a value is kept; `nil` for ever.
  ///   - clock: The source of the time.
  public convenience init(
    countLimit: Int = MemoryCacheConfiguration.standardCountLimit, costLimit: Int = .max, ageLimit: Duration? = nil,
    clock: CacheClock = .system
  ) {
    self.init(
      configuration: MemoryCacheConfiguration(
        countLimit: countLimit, costLimit: costLimit, ageLimit: ageLimit, clock: clock))
  }

  /// Makes an empty cache.
  public convenience init(configuration: MemoryCacheConfiguration) {
    let store = MemoryStore<Key, Value>(
      countLimit: configuration.countLimit, costLimit: configuration.costLimit, clock: configuration.clock)
    self.init(store: store, configuration: configuration)
  }

  /// Wraps a shared store, which keeps its count limit, cost limit and clock.
  package init(store: MemoryStore<Key, Value>, configuration: MemoryCacheConfiguration) {
    self.store = store
    pressure = MemoryPressure(
      removesAllOnWarning: configuration.removesAllObjectsOnMemoryWarning,
      inBackground: configuration.removesAllObjectsWhenEnteringBackground
    ) { [weak store] in store?.removeAll() }
    store.setsRelease(
      asynchronously: configuration.releasesAsynchronously, onMainThread: configuration.releasesOnMainThread)
    store.autoTrimInterval = configuration.autoTrimInterval
    store.ageLimit = configuration.ageLimit
  }

  // MARK: Values

  /// Returns the value under `key`, or `nil` if it is missing or has expired. Counts as an access.
  @inlinable
  public func value(forKey key: Key) -> Value? {
    let hash = store.hash(of: key)
    switch store.access(key, hash: hash, tick: store.ticks.now, needsStamps: { false }, { .some($0.value) }) {
    case .hit(let value): return value
    case .miss, .closed: return nil
    }
  }

  /// Stores a value, replacing the one under `key`, and evicts others until the limits hold.
  ///
  /// The place in the eviction order is kept. A value whose cost exceeds the limit, or with an expiry of zero or less,
  /// is not stored, but the older one goes.
  ///
  /// - Parameters:
  ///   - duration: How long it may be returned, by the wall clock; `nil` for ever.
  ///   - cost: Its share of ``costLimit``, clamped to 0...2^55. (`LMDBCache` refuses negative costs.)
  @inlinable
  public func set(_ value: consuming Value, forKey key: Key, expiresIn duration: Duration? = nil, cost: Int = 0) {
    let hash = store.hash(of: key)
    var expires = Int64.max
    if let duration {
      guard let moment = store.moment(after: duration) else {
        store.drop(key, hash: hash)
        return store.refuse(value)
      }
      expires = moment
    }
    store.set(key, hash: hash, value: value, cost: cost, expires: expires)
  }

  /// Removes and returns the value under `key`, or `nil` if it is missing or has expired.
  ///
  /// The caller releases the value, even if it ignores the result, regardless of ``releasesAsynchronously`` and
  /// ``releasesOnMainThread``. ``removeObject(forKey:)`` follows them.
  @inlinable @discardableResult
  public func removeValue(forKey key: Key) -> Value? {
    store.remove(key, hash: store.hash(of: key))
  }

  /// Removes every value, in constant time unless the caller releases them.
  public func removeAll() { store.removeAll() }

  /// Removes the values whose keys `predicate` accepts. It runs without a lock.
  public func removeAll(where predicate: (Key) -> Bool) { store.removeAll(where: predicate) }

  /// Returns whether a live value exists under `key`. Not an access.
  @inlinable
  public func contains(_ key: Key) -> Bool {
    store.contains(key, hash: store.hash(of: key))
  }

  /// The number of values, including expired ones that were not removed yet.
  public var count: Int { store.count }

  /// The sum of the values' costs.
  public var totalCost: Int { store.totalCost }

  /// Counters since the cache was made.
  public var statistics: MemoryStatistics { store.statistics }
}
