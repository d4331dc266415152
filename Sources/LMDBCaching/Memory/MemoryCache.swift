import Synchronization

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

extension MemoryCache {
  /// The maximum number of values, a million by default. Lowering it evicts before the setter returns; 0 empties the
  /// cache. A negative number means no limit, `Int.max`.
  public var countLimit: Int {
    get { store.countLimit }
    set { store.countLimit = newValue }
  }

  /// The maximum total cost. Lowering it evicts before the setter returns; 0 leaves only values without cost. A
  /// negative number means no limit, `Int.max`.
  public var costLimit: Int {
    get { store.costLimit }
    set { store.costLimit = newValue }
  }

  /// How long after its last access a value is kept, applied every ``autoTrimInterval``; `nil` or negative for ever.
  public var ageLimit: Duration? {
    get { store.ageLimit }
    set { store.ageLimit = newValue }
  }

  /// How often old and expired values are removed; zero or less: never. The timer runs only if needed.
  public var autoTrimInterval: Duration {
    get { store.autoTrimInterval }
    set { store.autoTrimInterval = newValue }
  }

  /// Evicts until the cache is within `target`; ignores a negative one. Blocks other threads for up to 256 evictions. An
  /// age is exact to within 67 ms, and also removes expired values.
  public func trim(to target: TrimTarget) {
    switch target {
    case .limits:
      store.trim(toCount: countLimit)
      store.trim(toCost: costLimit)
      if let ageLimit { store.trim(toAge: ageLimit) }
    case .count(let count): store.trim(toCount: count)
    case .cost(let cost): store.trim(toCost: cost)
    case .age(let age): store.trim(toAge: age)
    }
  }

  /// Whether removed values are released on a background queue (or asynchronously on the main thread) instead of the
  /// removing thread. Default true. ``removeValue(forKey:)`` returns its value instead.
  public var releasesAsynchronously: Bool {
    get { store.releasesAsynchronously }
    set { store.setsRelease(asynchronously: newValue, onMainThread: store.releasesOnMainThread) }
  }

  /// Whether removed values are released on the main thread, which must then run its queue. Default false. The number
  /// of waiting values is unbounded.
  public var releasesOnMainThread: Bool {
    get { store.releasesOnMainThread }
    set { store.setsRelease(asynchronously: store.releasesAsynchronously, onMainThread: newValue) }
  }
}

extension MemoryCache {
  // MARK: Many keys

  /// Returns the values under keys, in the order of the keys; `nil` for missing and expired ones. Each counts as an
  /// access.
  ///
  /// Faster than single look-ups in a large cache, because several entries are fetched at once. The values are not a
  /// snapshot.
  @inlinable
  public func values(forKeys keys: [Key]) -> [Value?] {
    let tick = store.ticks.now
    return [Value?](unsafeUninitializedCapacity: keys.count) { values, count in
      store.withHashes(of: keys) { index, hash in
        let found = store.access(keys[index], hash: hash, tick: tick, isFetched: true, needsStamps: { false }) {
          .some($0.value)
        }
        if case .hit(let value) = found {
          values.initializeElement(at: index, to: value)
        } else {
          values.initializeElement(at: index, to: nil)
        }
      }
      count = keys.count
    }
  }

  /// Stores several values in turn with ``set(_:forKey:expiresIn:cost:)``.
  @inlinable
  public func set(
    _ values: some Sequence<(key: Key, value: Value)>, expiresIn duration: Duration? = nil, cost: Int = 0
  ) {
    for (key, value) in values { set(value, forKey: key, expiresIn: duration, cost: cost) }
  }

  /// Removes several values in turn with ``removeObject(forKey:)``.
  @inlinable
  public func removeValues(forKeys keys: some Sequence<Key>) { for key in keys { removeObject(forKey: key) } }
}

// YYMemoryCache's names.

extension MemoryCache {
  /// Returns whether an object exists under `key`. Not an access.
  @inlinable
  public func containsObject(forKey key: Key) -> Bool { contains(key) }

  /// Returns the object under `key`, or `nil` if it is missing.
  @inlinable
  public func object(forKey key: Key) -> Value? { value(forKey: key) }

  /// Stores an object under `key`, or removes the entry if it is `nil`.
  @inlinable
  public func setObject(_ object: consuming Value?, forKey key: Key, cost: Int = 0) {
    if let object { set(object, forKey: key, cost: cost) } else { removeObject(forKey: key) }
  }

  /// Removes the object under `key`, if it exists, and releases it as an evicted one.
  @inlinable
  public func removeObject(forKey key: Key) { store.drop(key, hash: store.hash(of: key)) }

  /// Removes every object.
  public func removeAllObjects() { removeAll() }
}

extension MemoryCache {
  /// Whether a memory warning empties the cache. Default true.
  public var removesAllObjectsOnMemoryWarning: Bool {
    get { pressure.state.withLock { $0.removesAllOnWarning } }
    set { pressure.update { $0.removesAllOnWarning = newValue } }
  }

  /// Whether ``handleEnteringBackground()`` empties the cache. Default true.
  public var removesAllObjectsWhenEnteringBackground: Bool {
    get { pressure.state.withLock { $0.removesAllInBackground } }
    set { pressure.update { $0.removesAllInBackground = newValue } }
  }

  /// Called on a memory warning, before the cache is emptied, on any thread and under no lock.
  public var didReceiveMemoryWarning: (@Sendable () -> Void)? {
    get { pressure.state.withLock { $0.didReceiveWarning } }
    set { pressure.update { $0.didReceiveWarning = newValue } }
  }

  /// Called when the app has entered the background, before the cache is emptied, under no lock.
  public var didEnterBackground: (@Sendable () -> Void)? {
    get { pressure.state.withLock { $0.didEnterBackground } }
    set { pressure.update { $0.didEnterBackground = newValue } }
  }

  /// Handles a memory warning: calls ``didReceiveMemoryWarning``, then ``removeAll()`` if so configured.
  public func handleMemoryPressure() { pressure.warn() }

  /// Call this when the app enters the background. Calls ``didEnterBackground``, then ``removeAll()`` if so configured.
  public func handleEnteringBackground() { pressure.enterBackground() }
}

/// How a memory cache is set up; every value but the clock can be changed later.
public struct MemoryCacheConfiguration: Sendable {
  /// A million.
  public static let standardCountLimit = 1_000_000

  /// The maximum number of values: ``standardCountLimit`` by default, `Int.max` for no limit, as are negative numbers;
  /// 0 holds none.
  public var countLimit = Self.standardCountLimit
  /// The maximum total cost; no limit by default, since the unit of costs is up to the caller.
  public var costLimit = Int.max
  /// How long after its last access a value is kept; `nil` for ever.
  public var ageLimit: Duration?
  /// How often values too old or expired are looked for; zero or less: never.
  public var autoTrimInterval = Duration.seconds(5)
  /// Whether removed values are released on a background queue rather than by the thread that removed them.
  public var releasesAsynchronously = true
  /// Whether removed values are released on the main thread.
  public var releasesOnMainThread = false
  /// Whether memory pressure empties the cache.
  public var removesAllObjectsOnMemoryWarning = true
  /// Whether the cache is emptied when the app enters the background.
  public var removesAllObjectsWhenEnteringBackground = true
  /// Where the time comes from.
  public var clock = CacheClock.system

  public init(
    countLimit: Int = Self.standardCountLimit, costLimit: Int = .max, ageLimit: Duration? = nil,
    clock: CacheClock = .system
  ) {
    self.countLimit = countLimit
    self.costLimit = costLimit
    self.ageLimit = ageLimit
    self.clock = clock
  }

  /// The defaults, without a limit of the count.
  public static var unlimited: MemoryCacheConfiguration { MemoryCacheConfiguration(countLimit: .max) }
}
