public import LMDBCaching

// Keys without a store: the cache's own functions, which throw. Hooks belong to stores and are not called.

extension LMDBCache {
  /// The value under the key, or its default value where there is none.
  ///
  /// - Throws: as `value(_:forKey:)`.
  public func value<K: KeyType>(forKey key: K) throws(CacheError) -> K.ValueType
  where K.ValueType: Codable & Sendable {
    try value(K.ValueType.self, forKey: key.stringValue) ?? key.defaultValue
  }

  /// The same for a nullable key.
  public func value<K: KeyType, V: Codable & Sendable>(forKey key: K) throws(CacheError) -> V?
  where K.ValueType == V? {
    try value(V.self, forKey: key.stringValue) ?? key.defaultValue
  }

  /// Stores a value under the key.
  ///
  /// - Throws: as `set(_:forKey:expiresIn:cost:)`.
  public func set<K: KeyType>(
    _ value: K.ValueType, forKey key: K, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) where K.ValueType: Codable & Sendable {
    try set(value, forKey: key.stringValue, expiresIn: expiresIn, cost: cost)
  }

  /// The same for a nullable key; nil removes what is there.
  public func set<K: KeyType, V: Codable & Sendable>(
    _ value: V?, forKey key: K, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) where K.ValueType == V? {
    guard let value else { return try removeValue(forKey: key.stringValue) }
    try set(value, forKey: key.stringValue, expiresIn: expiresIn, cost: cost)
  }

  /// Removes the entry under the key, if there is one.
  public func removeValue(forKey key: some KeyType) throws(CacheError) { try removeValue(forKey: key.stringValue) }

  /// Whether there is an entry under the key that has not expired.
  public func contains(_ key: some KeyType) -> Bool { contains(key.stringValue) }
}
