public import Foundation
// `LMDBConvertible` and the cache of an `LMDBStore` are part of what Storez offers.
@_exported public import LMDBCaching

/// Values in an `LMDBCache`: read from memory if they are there, still there after a crash, shared between processes.
///
/// ```swift
/// let store = try LMDBStore()
/// store.set(Weather.temperature, value: 21)
/// try store.cache.value(Double.self, forKey: Weather.temperature.stringValue)  // the same entry
/// ```
///
/// Values are `Codable`, objects that conform to `NSCoding`, or `LMDBConvertible`, and optionals of these. Each is an
/// entry of the cache under the key's name, stored as the cache itself stores it. Where there is none ``get(_:)``
/// returns the key's default; so it does where it cannot be read, which is reported and kept.
///
/// A cache may lose entries: one with limits evicts them. Give a store that must not lose anything a cache without.
/// While the disk is full or fails, a few megabytes are kept in memory, as the cache's `health` says; then writing fails.
///
/// Any thread may use it. A value that is not Sendable is shared between the threads that get it.
public final class LMDBStore: Store, Sendable {
  /// Where the values are.
  public let cache: LMDBCache
  let reporter = FailureReporter()

  /// A store over a cache in the user's directory for data, which no cleaner empties, without limits on the disk.
  ///
  /// - Parameter name: The cache's name; `nil` for the application's own, which is also the default cache of
  ///   `EFStorageLMDBCache`: a key of the store names the same entry there.
  /// - Throws: `CacheError`, as `LMDBCache.init(directory:configuration:)`.
  public convenience init(name: String? = nil) throws(CacheError) {
    try self.init(cache: LMDBCache(name: name ?? UserDirectory.defaultName, in: .data))
  }

  /// - Parameter cache: The cache, which the store does not close.
  public init(cache: LMDBCache) { self.cache = cache }

  /// See ``UserDefaultsStore/onFailure``.
  public var onFailure: (@Sendable (StorezFailure) -> Void)? {
    get { reporter.handler }
    set { reporter.handler = newValue }
  }

  /// Removes every entry of the cache, whoever made it. For a cache that is used for other things too there is
  /// ``removeAll(in:)``.
  public func clear() { removeAll(in: GlobalNamespace.self) }

  // MARK: For the typed functions

  func access<K: KeyType, C: EntryCodec<K.ValueType>>(_ key: K, _ codec: C.Type) -> Access<K> {
    Access(key: key, reporter: reporter) { [cache] in
      do throws(CacheError) {
        return try C.value(in: cache, key.stringValue)
      } catch {
        if error.isAboutTheEntry { throw error }
        throw StorezFailure(
          .storage, key: key.stringValue, "The cache cannot be read; \"\(key.stringValue)\" has its default value.",
          underlying: error)
      }
    }
  }

  func set<K: KeyType, C: EntryCodec<K.ValueType>>(_ key: K, _ value: K.ValueType, _ codec: C.Type) {
    _ = access(key, codec).set(value) {
      try C.archive($0, cache)
    } write: { archived in
      try write(archived, forKey: key.stringValue)
      return true
    }
  }

  func write(_ archived: ArchivedValue?, forKey key: String) throws(CacheError) {
    if let archived { try cache.set(archived, forKey: key) } else { try cache.removeValue(forKey: key) }
  }
}

extension CacheError {
  fileprivate var isAboutTheEntry: Bool {
    [.typeMismatch, .decodingFailed, .corruptedRecord, .unsupportedRecord, .missingTransform].contains(code)
  }
}

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

// A namespace is a stretch of the cache's keys: each of these is one operation on it.

extension LMDBStore {
  /// The entries of the namespace's keys and of nested namespaces', in byte order of their keys. Those that have
  /// expired are left out. A failure is reported, and there are none: ``Store/throwing(_:)`` tells them apart.
  public func entries<N: Namespace>(in namespace: N.Type) -> [CacheEntry] {
    attempt("listed", N.prefix) { () throws(CacheError) in try cache.entries(withPrefix: N.prefix) } ?? []
  }

  /// How many values are stored in the namespace and in nested ones; 0 where a failure is reported, as by
  /// ``entries(in:)``.
  public func count<N: Namespace>(in namespace: N.Type) -> Int { entries(in: namespace).count }

  /// Removes the values of the namespace and of nested ones. Hooks are not called.
  public func removeAll<N: Namespace>(in namespace: N.Type) {
    SettingLock.withLock {
      _ = attempt("removed", N.prefix) { () throws(CacheError) in
        if N.prefix.isEmpty { try cache.removeAll() } else { try cache.removeAll(.prefix(N.prefix)) }
      }
    }
  }

  /// What happens to the values of the namespace and of nested ones, here and in other processes: see
  /// `LMDBCache.changes(withPrefix:bufferingLimit:)`.
  public func changes<N: Namespace>(in namespace: N.Type, bufferingLimit: Int = 1_024) -> CacheChanges {
    cache.changes(withPrefix: N.prefix, bufferingLimit: bufferingLimit)
  }

  private func attempt<R>(_ activity: String, _ prefix: String, _ body: () throws(CacheError) -> R) -> R? {
    do throws(CacheError) {
      return try body()
    } catch {
      reporter.report(
        StorezFailure(
          .storage, key: prefix,
          "The values under \"\(prefix)\" could not be \(activity). Try it again when the cache works.",
          underlying: error))
      return nil
    }
  }
}

extension LMDBStore {
  /// Moves the value of an entry with a plain key to a typed one.
  ///
  /// ```swift
  /// let city = LMDBStore.Migration(to: Weather.city, from: "CityId", as: Int.self) { City(id: $0) }
  /// store.migrate([city])
  /// ```
  ///
  /// It is as ``UserDefaultsStore/Migration``, but names the old type. An old value that cannot be read is reported,
  /// and stays.
  ///
  /// The new value is stored on the condition that there is still none, by whichever thread or process, and then the
  /// old one is removed, if it is still the one that was read. So nothing newer is replaced. A crash in between leaves
  /// both entries, and then the old one stays.
  ///
  /// Where the old key is the new one's name the value is replaced if it is still the one that was read when the hooks
  /// before the write have been called. What another thread or process writes at that very moment can be lost.
  public struct Migration {
    let perform: (LMDBStore) -> Void

    private init<K: KeyType, Old: Codable, C: EntryCodec<K.ValueType>>(
      _ key: K, _ oldKey: String, _ old: Old.Type, _ codec: C.Type,
      _ processor: @escaping (Old) -> K.ValueType?
    ) {
      perform = { $0.migrate(key, oldKey, Old.self, C.self, processor) }
    }

    /// - Parameter processor: Makes the new value of the old one.
    public init<K: KeyType, Old: Codable>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping (Old) -> K.ValueType?
    ) where K.ValueType: LMDBConvertible {
      self.init(key, oldKey, old, ConvertibleEntry<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    public init<K: KeyType, Old: Codable, V: LMDBConvertible>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping (Old) -> V??
    ) where K.ValueType == V? {
      self.init(key, oldKey, old, NullableEntry<ConvertibleEntry<V>>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    public init<K: KeyType, Old: Codable>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping (Old) -> K.ValueType?
    ) where K.ValueType: NSCoding {
      self.init(key, oldKey, old, CodingEntry<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    public init<K: KeyType, Old: Codable, V: NSCoding>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping (Old) -> V??
    ) where K.ValueType == V? {
      self.init(key, oldKey, old, NullableEntry<CodingEntry<V>>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    @_disfavoredOverload
    public init<K: KeyType, Old: Codable>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping (Old) -> K.ValueType?
    ) where K.ValueType: Codable {
      self.init(key, oldKey, old, CodableEntry<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    @_disfavoredOverload
    public init<K: KeyType, Old: Codable, V: Codable>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping (Old) -> V??
    ) where K.ValueType == V? {
      self.init(key, oldKey, old, NullableEntry<CodableEntry<V>>.self, processor)
    }
  }

  /// Performs the migrations, in order.
  public func migrate(_ migrations: [Migration]) {
    for migration in migrations { migration.perform(self) }
  }

  private func migrate<K: KeyType, Old: Codable, C: EntryCodec<K.ValueType>>(
    _ key: K, _ oldKey: String, _ type: Old.Type, _ codec: C.Type, _ processor: (Old) -> K.ValueType?
  ) {
    SettingLock.withLock {
      let newKey = key.stringValue
      let isInPlace = oldKey.utf8.elementsEqual(newKey.utf8)
      func isDone() throws -> Bool {
        try isInPlace ? isReadable(newKey, codec) : cache.contains(newKey)
      }
      do {
        if try isDone() { return }
        // Known before it is read: what is written later is another one.
        guard let version = try cache.entry(forKey: oldKey)?.version,
          let old = try cache.sharedValue(Old.self, forKey: oldKey), let value = processor(old)
        else { return }
        // The closure may take its time.
        if try isDone() { return }
        if isInPlace {
          replace(key, value, codec, version)
        } else {
          move(key, value, codec, from: oldKey, version)
        }
      } catch {
        reporter.report(
          StorezFailure(
            .storage, key: oldKey, "The value under \"\(oldKey)\" was not migrated to \"\(newKey)\". It is kept.",
            underlying: error))
      }
    }
  }

  /// - Parameter version: Of the value that was read.
  private func replace<K: KeyType, C: EntryCodec<K.ValueType>>(
    _ key: K, _ value: K.ValueType, _ codec: C.Type, _ version: EntryVersion
  ) {
    var access = access(key, codec)
    access.reportsUnreadable = false
    _ = access.set(value) {
      try C.archive($0, cache)
    } write: { archived in
      guard try cache.entry(forKey: key.stringValue)?.version == version else { return false }
      try write(archived, forKey: key.stringValue)
      return true
    }
  }

  /// - Parameter version: Of the value that was read.
  private func move<K: KeyType, C: EntryCodec<K.ValueType>>(
    _ key: K, _ value: K.ValueType, _ codec: C.Type, from oldKey: String, _ version: EntryVersion
  ) {
    _ = access(key, codec).set(value) { value in
      // What cannot be stored is found before the hooks are called.
      _ = try C.archive(value, cache)
      return try C.object(for: value)
    } write: { object in
      if let object {
        guard try cache.setObject(object, forKey: key.stringValue, if: .absent) else { return false }
      } else if try cache.contains(key.stringValue) {
        return false
      }
      remove(oldKey, version, for: key.stringValue)
      return true
    }
  }

  /// Removes an old value whose new one is stored.
  private func remove(_ oldKey: String, _ version: EntryVersion, for newKey: String) {
    do throws(CacheError) {
      try cache.removeValue(forKey: oldKey, ifVersion: version)
    } catch {
      reporter.report(
        StorezFailure(
          .storage, key: oldKey, "The value under \"\(oldKey)\" was migrated to \"\(newKey)\", and not removed.",
          underlying: error))
    }
  }

  private func isReadable<C: EntryCodec>(_ key: String, _ codec: C.Type) -> Bool {
    do {
      return try C.value(in: cache, key) != nil
    } catch {
      return false
    }
  }
}
