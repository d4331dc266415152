public import Foundation
import LMDBCaching

// For each kind of type: the value, setting it, and setting it without a label. A type that is of two kinds is
// converted if it can be, and else stored as its coder says.

extension LMDBStore {
  // MARK: Types with a conversion

  /// Returns what is stored under the key, or its default value.
  public func get<K: KeyType>(_ key: K) -> K.ValueType where K.ValueType: LMDBConvertible {
    access(key, ConvertibleEntry<K.ValueType>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``.
  public func set<K: KeyType>(_ key: K, value: K.ValueType) where K.ValueType: LMDBConvertible {
    set(key, value, ConvertibleEntry<K.ValueType>.self)
  }

  /// See ``set(_:value:)``.
  public func set<K: KeyType>(_ key: K, _ value: K.ValueType) where K.ValueType: LMDBConvertible {
    set(key, value, ConvertibleEntry<K.ValueType>.self)
  }

  /// Returns what is stored under the key, or its default value.
  public func get<K: KeyType, V: LMDBConvertible>(_ key: K) -> V? where K.ValueType == V? {
    access(key, NullableEntry<ConvertibleEntry<V>>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``. Nil removes what is there.
  public func set<K: KeyType, V: LMDBConvertible>(_ key: K, value: V?) where K.ValueType == V? {
    set(key, value, NullableEntry<ConvertibleEntry<V>>.self)
  }

  /// See ``set(_:value:)``.
  public func set<K: KeyType, V: LMDBConvertible>(_ key: K, _ value: V?) where K.ValueType == V? {
    set(key, value, NullableEntry<ConvertibleEntry<V>>.self)
  }

  // MARK: Objects

  /// Returns what is stored under the key, or its default value.
  public func get<K: KeyType>(_ key: K) -> K.ValueType where K.ValueType: NSCoding {
    access(key, CodingEntry<K.ValueType>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``.
  public func set<K: KeyType>(_ key: K, value: K.ValueType) where K.ValueType: NSCoding {
    set(key, value, CodingEntry<K.ValueType>.self)
  }

  /// See ``set(_:value:)``.
  public func set<K: KeyType>(_ key: K, _ value: K.ValueType) where K.ValueType: NSCoding {
    set(key, value, CodingEntry<K.ValueType>.self)
  }

  /// Returns what is stored under the key, or its default value.
  public func get<K: KeyType, V: NSCoding>(_ key: K) -> V? where K.ValueType == V? {
    access(key, NullableEntry<CodingEntry<V>>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``. Nil removes what is there.
  public func set<K: KeyType, V: NSCoding>(_ key: K, value: V?) where K.ValueType == V? {
    set(key, value, NullableEntry<CodingEntry<V>>.self)
  }

  /// See ``set(_:value:)``.
  public func set<K: KeyType, V: NSCoding>(_ key: K, _ value: V?) where K.ValueType == V? {
    set(key, value, NullableEntry<CodingEntry<V>>.self)
  }

  // MARK: Codable types

  /// Returns what is stored under the key, or its default value.
  @_disfavoredOverload
  public func get<K: KeyType>(_ key: K) -> K.ValueType where K.ValueType: Codable {
    access(key, CodableEntry<K.ValueType>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``.
  @_disfavoredOverload
  public func set<K: KeyType>(_ key: K, value: K.ValueType) where K.ValueType: Codable {
    set(key, value, CodableEntry<K.ValueType>.self)
  }

  /// See ``set(_:value:)``.
  @_disfavoredOverload
  public func set<K: KeyType>(_ key: K, _ value: K.ValueType) where K.ValueType: Codable {
    set(key, value, CodableEntry<K.ValueType>.self)
  }

  /// Returns what is stored under the key, or its default value.
  @_disfavoredOverload
  public func get<K: KeyType, V: Codable>(_ key: K) -> V? where K.ValueType == V? {
    access(key, NullableEntry<CodableEntry<V>>.self).get()
  }

  /// Stores a value under the key, with all hooks: see ``KeyType``. Nil removes what is there.
  @_disfavoredOverload
  public func set<K: KeyType, V: Codable>(_ key: K, value: V?) where K.ValueType == V? {
    set(key, value, NullableEntry<CodableEntry<V>>.self)
  }

  /// See ``set(_:value:)``.
  @_disfavoredOverload
  public func set<K: KeyType, V: Codable>(_ key: K, _ value: V?) where K.ValueType == V? {
    set(key, value, NullableEntry<CodableEntry<V>>.self)
  }
}
