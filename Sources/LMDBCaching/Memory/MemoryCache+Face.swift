import Synchronization

extension MemoryCache {
  // MARK: Values

  /// Returns the value under `key`, or `nil` if it is missing or has expired. Counts as an access.
  @inlinable
  public func value(forKey key: Key) -> Value? {
    let hash = hash(of: key)
    switch access(key, hash: hash, tick: ticks.now, needsStamps: { false }, { .some($0.value) }) {
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
    let hash = hash(of: key)
    var expires = Int64.max
    if let duration {
      guard let moment = moment(after: duration) else {
        drop(key, hash: hash)
        return refuse(value)
      }
      expires = moment
    }
    set(key, hash: hash, value: value, cost: cost, expires: expires)
  }

  /// Removes and returns the value under `key`, or `nil` if it is missing or has expired.
  ///
  /// The caller releases the value, even if it ignores the result, regardless of ``releasesAsynchronously`` and
  /// ``releasesOnMainThread``. ``removeObject(forKey:)`` follows them.
  @inlinable @discardableResult
  public func removeValue(forKey key: Key) -> Value? {
    remove(key, hash: hash(of: key))
  }

  /// Removes the values whose keys `predicate` accepts. It runs without a lock.
  public func removeAll(where predicate: (Key) -> Bool) { removeAll(olderThan: .max, where: predicate) }

  /// Returns whether a live value exists under `key`. Not an access.
  @inlinable
  public func contains(_ key: Key) -> Bool {
    contains(key, hash: hash(of: key))
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
    let tick = ticks.now
    return [Value?](unsafeUninitializedCapacity: keys.count) { values, count in
      withHashes(of: keys) { index, hash in
        let found = access(keys[index], hash: hash, tick: tick, isFetched: true, needsStamps: { false }) {
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
  public func removeObject(forKey key: Key) { drop(key, hash: hash(of: key)) }

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
