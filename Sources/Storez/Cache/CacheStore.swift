import LMDBCaching

/// Values in memory, as long as the store and its limits keep them.
///
/// A value of any type is kept as it is; one of a ``CacheConvertible`` type as the object that it is converted to.
/// Where nothing is kept ``get(_:)`` returns the key's default.
///
/// Any thread may use it. It hands the values that were set on one thread to others: one that is not Sendable should be
/// immutable.
public final class CacheStore: Store, Sendable {
  private let cache: MemoryCache<String, CachedBox>
  private let reporter = FailureReporter()

  /// - Parameter countLimit: How many values it keeps at most, a million if nothing is said, and without a limit
  ///   `Int.max`;
  ///   others are evicted, and have their defaults. Less than 0 is taken for no limit.
  public init(countLimit: Int = 1_000_000) { cache = MemoryCache(countLimit: countLimit) }

  /// See ``UserDefaultsStore/onFailure``.
  public var onFailure: (@Sendable (StorezFailure) -> Void)? {
    get { reporter.handler }
    set { reporter.handler = newValue }
  }

  /// Removes every value.
  public func clear() { SettingLock.withLock { cache.removeAll() } }

  // MARK: Any type

  /// What is kept under the key, or its default value.
  public func get<K: KeyType>(_ key: K) -> K.ValueType { access(key, PlainCached<K.ValueType>.self).get() }

  /// Keeps a value under the key, with all hooks: see ``KeyType``. Nil removes what is there.
  public func set<K: KeyType>(_ key: K, value: K.ValueType) { set(key, value, PlainCached<K.ValueType>.self) }

  /// See ``set(_:value:)``.
  public func set<K: KeyType>(_ key: K, _ value: K.ValueType) { set(key, value, PlainCached<K.ValueType>.self) }

  // MARK: Types with a conversion

  /// What is kept under the key, or its default value.
  public func get<K: KeyType>(_ key: K) -> K.ValueType where K.ValueType: CacheConvertible {
    access(key, ConvertibleCached<K.ValueType>.self).get()
  }

  /// Keeps a value under the key, with all hooks: see ``KeyType``.
  public func set<K: KeyType>(_ key: K, value: K.ValueType) where K.ValueType: CacheConvertible {
    set(key, value, ConvertibleCached<K.ValueType>.self)
  }

  /// See ``set(_:value:)``.
  public func set<K: KeyType>(_ key: K, _ value: K.ValueType) where K.ValueType: CacheConvertible {
    set(key, value, ConvertibleCached<K.ValueType>.self)
  }

  /// What is kept under the key, or its default value.
  public func get<K: KeyType, V: CacheConvertible>(_ key: K) -> V? where K.ValueType == V? {
    access(key, NullableObject<ConvertibleCached<V>>.self).get()
  }

  /// Keeps a value under the key, with all hooks: see ``KeyType``. Nil removes what is there.
  public func set<K: KeyType, V: CacheConvertible>(_ key: K, value: V?) where K.ValueType == V? {
    set(key, value, NullableObject<ConvertibleCached<V>>.self)
  }

  /// See ``set(_:value:)``.
  public func set<K: KeyType, V: CacheConvertible>(_ key: K, _ value: V?) where K.ValueType == V? {
    set(key, value, NullableObject<ConvertibleCached<V>>.self)
  }

  // MARK: The common part

  private func access<K: KeyType, C: ObjectCodec<K.ValueType>>(_ key: K, _ codec: C.Type) -> Access<K> {
    Access(key: key, reporter: reporter) { [cache] in
      try cache.value(forKey: key.stringValue).map { try C.value(of: $0.value) }
    }
  }

  private func set<K: KeyType, C: ObjectCodec<K.ValueType>>(_ key: K, _ value: K.ValueType, _ codec: C.Type) {
    _ = access(key, codec).set(value) {
      try C.object(for: $0)
    } write: { object in
      if let object {
        cache.set(CachedBox(value: object), forKey: key.stringValue)
      } else {
        cache.removeObject(forKey: key.stringValue)
      }
      return true
    }
  }
}
