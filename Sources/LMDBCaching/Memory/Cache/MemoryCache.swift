/// A cache in memory: a map from keys to values that holds its limits by S3-FIFO eviction (Yang et al., SOSP 2023) that
/// adapts to what it is asked for.
///
/// Any thread may use it, and threads rarely wait for each other. A `String` key is its UTF-8 bytes, not its canonical
/// equivalence class: a composed and a decomposed "é" are two keys. Limits hold whenever a call returns; an expired
/// value is never returned. Unless it is said otherwise it holds a million values: `MemoryCache(configuration: .unlimited)`
/// lifts that. Values are released after the cache's locks, by default on a background queue, so a
/// value's `deinit` may use the cache. A key's `==` and `hash(into:)` may not, nor wait for anybody who does: they are called
/// while a part of the cache is locked.
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
  ///   - countLimit: the most values to hold: a million if nothing is said, without a limit `Int.max`; 0 holds none. One
  ///     that is less than 0 is taken for no limit, as with the other limits.
  ///   - costLimit: the highest total cost to hold, in the units of the costs given to ``set(_:forKey:expiresIn:cost:)``.
  ///   - ageLimit: how long after its last access a value is kept; `nil` for ever.
  ///   - clock: where the time comes from.
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

  /// A cache over a store that its maker uses too; the configuration's count limit, cost limit and clock are the
  /// store's own.
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

  /// The value stored under `key`, or `nil` if there is none, or it has expired. Counts as an access.
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
  /// A replaced value's place in the eviction order is kept. A value whose cost is over the whole limit is not stored,
  /// but an older one under its key goes, and so with an expiry of zero or less.
  ///
  /// - Parameters:
  ///   - duration: how long from now it may be returned, by the wall clock; `nil` for ever.
  ///   - cost: what it counts towards ``costLimit``, 0 or more. This function cannot throw, where `LMDBCache` refuses a
  ///     negative cost: it counts as 0, and above 2^55 as 2^55.
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

  /// Removes and returns the value stored under `key`, or `nil` if there was none, or it had expired.
  ///
  /// The value is the caller's then, and released where the caller lets go of it, also if it is not looked at, whatever
  /// ``releasesAsynchronously`` and ``releasesOnMainThread`` say. ``removeObject(forKey:)`` follows them.
  @inlinable @discardableResult
  public func removeValue(forKey key: Key) -> Value? {
    store.remove(key, hash: store.hash(of: key))
  }

  /// Removes every value. Takes constant time, whatever it holds, unless values are released by the caller.
  public func removeAll() { store.removeAll() }

  /// Removes the values whose keys `predicate` accepts. No lock is held while it runs.
  public func removeAll(where predicate: (Key) -> Bool) { store.removeAll(where: predicate) }

  /// Whether a value that has not expired is stored under `key`. Not an access.
  @inlinable
  public func contains(_ key: Key) -> Bool {
    store.contains(key, hash: store.hash(of: key))
  }

  /// The number of values, those included that have expired and were not removed yet.
  public var count: Int { store.count }

  /// The sum of the values' costs.
  public var totalCost: Int { store.totalCost }

  /// What the cache did since it was made.
  public var statistics: MemoryStatistics { store.statistics }
}
