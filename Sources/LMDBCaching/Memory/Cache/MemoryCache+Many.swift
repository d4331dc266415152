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
