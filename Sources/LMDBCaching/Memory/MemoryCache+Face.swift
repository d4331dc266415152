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

  /// Removes the value under `key`, if it exists, and releases it as an evicted one.
  @inlinable
  public func removeObject(forKey key: Key) { drop(key, hash: hash(of: key)) }

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
