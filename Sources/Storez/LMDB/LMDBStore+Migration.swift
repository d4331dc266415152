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
  /// It is as ``UserDefaultsStore/Migration``, but names the old type. An old value that cannot be read is reported, and
  /// stays. The new value is set and the old one removed in one batch, so a crash leaves both as they were or as they are
  /// to be.
  public struct Migration: Sendable {
    let perform: @Sendable (LMDBStore) -> Void

    private init<K: KeyType & Sendable, Old: Codable & SendableMetatype, C: EntryCodec<K.ValueType>>(
      _ key: K, _ oldKey: String, _ old: Old.Type, _ codec: C.Type,
      _ processor: @escaping @Sendable (Old) -> K.ValueType?
    ) {
      perform = { $0.migrate(key, oldKey, Old.self, C.self, processor) }
    }

    /// - Parameter processor: Makes the new value of the old one.
    public init<K: KeyType & Sendable, Old: Codable & SendableMetatype>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping @Sendable (Old) -> K.ValueType?
    ) where K.ValueType: LMDBConvertible {
      self.init(key, oldKey, old, ConvertibleEntry<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    public init<K: KeyType & Sendable, Old: Codable & SendableMetatype, V: LMDBConvertible>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping @Sendable (Old) -> V??
    ) where K.ValueType == V? {
      self.init(key, oldKey, old, NullableEntry<ConvertibleEntry<V>>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    public init<K: KeyType & Sendable, Old: Codable & SendableMetatype>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping @Sendable (Old) -> K.ValueType?
    ) where K.ValueType: NSCoding {
      self.init(key, oldKey, old, CodingEntry<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    public init<K: KeyType & Sendable, Old: Codable & SendableMetatype, V: NSCoding>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping @Sendable (Old) -> V??
    ) where K.ValueType == V? {
      self.init(key, oldKey, old, NullableEntry<CodingEntry<V>>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    @_disfavoredOverload
    public init<K: KeyType & Sendable, Old: Codable & SendableMetatype>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping @Sendable (Old) -> K.ValueType?
    ) where K.ValueType: Codable {
      self.init(key, oldKey, old, CodableEntry<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of the old one.
    @_disfavoredOverload
    public init<K: KeyType & Sendable, Old: Codable & SendableMetatype, V: Codable>(
      to key: K, from oldKey: String, as old: Old.Type, processor: @escaping @Sendable (Old) -> V??
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
      do {
        if try isInPlace ? isReadable(newKey, codec) : cache.containsValue(forKey: newKey) { return }
        guard let old = try cache.sharedValue(Old.self, forKey: oldKey), let value = processor(old) else { return }
        set(key, value, codec, reportsUnreadable: !isInPlace, removing: isInPlace ? nil : oldKey)
      } catch {
        reporter.report(
          StorezFailure(
            .storage, key: oldKey, "The value under \"\(oldKey)\" was not migrated to \"\(newKey)\". It is kept.",
            underlying: error))
      }
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
