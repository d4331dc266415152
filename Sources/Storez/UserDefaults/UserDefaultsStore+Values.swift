// For each kind of type: the value, setting it, and setting it without a label. A type that is of two kinds is
// converted if it can be, and else stored as its coder says.

extension UserDefaultsStore {
  // MARK: Types with a conversion, and their optionals

  /// Returns what is stored under the key, or its default value.
  public func get<K: KeyType>(_ key: K) -> K.ValueType where K.ValueType: UserDefaultsConvertible {
    access(key, ConvertibleDefaults<K.ValueType>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``. `nil` removes what is there.
  public func set<K: KeyType>(_ key: K, value: K.ValueType) where K.ValueType: UserDefaultsConvertible {
    set(key, value, ConvertibleDefaults<K.ValueType>.self)
  }

  /// See ``set(_:value:)``.
  public func set<K: KeyType>(_ key: K, _ value: K.ValueType) where K.ValueType: UserDefaultsConvertible {
    set(key, value, ConvertibleDefaults<K.ValueType>.self)
  }

  // MARK: Objects

  /// Returns what is stored under the key, or its default value.
  public func get<K: KeyType>(_ key: K) -> K.ValueType where K.ValueType: UserDefaultsSupportedType {
    access(key, CodingDefaults<K.ValueType>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``.
  public func set<K: KeyType>(_ key: K, value: K.ValueType) where K.ValueType: UserDefaultsSupportedType {
    set(key, value, CodingDefaults<K.ValueType>.self)
  }

  /// See ``set(_:value:)``.
  public func set<K: KeyType>(_ key: K, _ value: K.ValueType) where K.ValueType: UserDefaultsSupportedType {
    set(key, value, CodingDefaults<K.ValueType>.self)
  }

  /// Returns what is stored under the key, or its default value.
  public func get<K: KeyType, V: UserDefaultsSupportedType>(_ key: K) -> V? where K.ValueType == V? {
    access(key, NullableObject<CodingDefaults<V>>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``. `nil` removes what is there.
  public func set<K: KeyType, V: UserDefaultsSupportedType>(_ key: K, value: V?) where K.ValueType == V? {
    set(key, value, NullableObject<CodingDefaults<V>>.self)
  }

  /// See ``set(_:value:)``.
  public func set<K: KeyType, V: UserDefaultsSupportedType>(_ key: K, _ value: V?) where K.ValueType == V? {
    set(key, value, NullableObject<CodingDefaults<V>>.self)
  }

  // MARK: Codable types, and their optionals

  /// Returns what is stored under the key, or its default value.
  @_disfavoredOverload
  public func get<K: KeyType>(_ key: K) -> K.ValueType where K.ValueType: Codable {
    access(key, CodableDefaults<K.ValueType>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``. `nil` removes what is there.
  @_disfavoredOverload
  public func set<K: KeyType>(_ key: K, value: K.ValueType) where K.ValueType: Codable {
    set(key, value, CodableDefaults<K.ValueType>.self)
  }

  /// See ``set(_:value:)``.
  @_disfavoredOverload
  public func set<K: KeyType>(_ key: K, _ value: K.ValueType) where K.ValueType: Codable {
    set(key, value, CodableDefaults<K.ValueType>.self)
  }
}
