public import Foundation
import LMDBCaching

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
        try isInPlace ? isReadable(newKey, codec) : cache.containsValue(forKey: newKey)
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
        guard try cache.setObjectIfAbsent(object, forKey: key.stringValue) else { return false }
      } else if try cache.containsValue(forKey: key.stringValue) {
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
