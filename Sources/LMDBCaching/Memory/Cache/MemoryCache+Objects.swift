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
