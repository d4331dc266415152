import FoundationArchives
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

/// A type that a ``CacheStore`` keeps as an object of another type. Types without a conversion are kept as they are.
public protocol CacheConvertible {
  associatedtype CacheType: CacheSupportedType

  /// The value, or `nil` if the object is of none. It is kept then, and reported.
  static func decode(cacheValue value: CacheType) -> Self?
  /// The object to keep, or `nil` if there is none. What was kept stays then, and it is reported.
  var encodeForCache: CacheType? { get }
}

/// What a value of a ``CacheConvertible`` type is kept as: any object.
public typealias CacheSupportedType = AnyObject

enum PlainCached<Value>: ObjectCodec {
  static func object(for value: Value) -> Any? {
    // An inner nil is a value.
    PropertyListValue.isInnerNil(value) ? value : PropertyListValue.unwrapped(value)
  }

  static func value(of object: Any) throws -> Value {
    guard let value = object as? Value else { throw ConversionError.notDecoded(Value.self, object) }
    return value
  }
}

enum ConvertibleCached<Value: CacheConvertible>: ObjectCodec {
  static func object(for value: Value) throws -> Any? {
    guard let object = value.encodeForCache else { throw ConversionError.notEncoded(Value.self, "encodeForCache") }
    return object
  }

  static func value(of object: Any) throws -> Value {
    guard let cached = object as? Value.CacheType, let value = Value.decode(cacheValue: cached) else {
      throw ConversionError.notDecoded(Value.self, object)
    }
    return value
  }
}

/// A value of any type in memory.
// Sendable: immutable. Its value is Sendable, or one that the caller chose to share between threads by setting it.
struct CachedBox: @unchecked Sendable {
  let value: Any
}
