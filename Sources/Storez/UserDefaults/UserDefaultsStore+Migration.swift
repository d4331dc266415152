public import Foundation

extension UserDefaultsStore {
  /// Moves a value from a plain key of user defaults to a typed one.
  ///
  /// ```swift
  /// let city = UserDefaultsStore.Migration(to: Weather.city, from: "CityId") { old in
  ///   (old as? Int).flatMap(City.init(id:))
  /// }
  /// store.migrate([city])
  /// ```
  ///
  /// The value is set with all hooks, and the old one removed in the same step, so that a crash leaves both as they were
  /// or as they are to be. Nothing is changed if nothing is under the old key, if something is under the new one already,
  /// which is newer, if the closure returns `nil`, or if the value cannot be stored, which is reported. So it can be done
  /// at every start.
  ///
  /// The old key may be the new one's name: its value is replaced unless it can be read as the new type.
  public struct Migration: Sendable {
    let perform: @Sendable (UserDefaultsStore) -> Void

    private init<K: KeyType & Sendable, C: DefaultsCodec<K.ValueType>>(
      _ key: K, _ oldKey: String, _ codec: C.Type, _ processor: @escaping @Sendable (Any) -> K.ValueType?
    ) {
      perform = { $0.migrate(key, oldKey, C.self, processor) }
    }

    /// - Parameter processor: Makes the new value of what is stored under the old key: a property list value.
    public init<K: KeyType & Sendable>(
      to key: K, from oldKey: String, processor: @escaping @Sendable (Any) -> K.ValueType?
    ) where K.ValueType: UserDefaultsConvertible {
      self.init(key, oldKey, ConvertibleDefaults<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of what is stored under the old key: a property list value.
    public init<K: KeyType & Sendable>(
      to key: K, from oldKey: String, processor: @escaping @Sendable (Any) -> K.ValueType?
    ) where K.ValueType: UserDefaultsSupportedType {
      self.init(key, oldKey, CodingDefaults<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of what is stored under the old key: a property list value.
    public init<K: KeyType & Sendable, V: UserDefaultsSupportedType>(
      to key: K, from oldKey: String, processor: @escaping @Sendable (Any) -> V??
    ) where K.ValueType == V? {
      self.init(key, oldKey, NullableDefaults<CodingDefaults<V>>.self, processor)
    }

    /// - Parameter processor: Makes the new value of what is stored under the old key: a property list value.
    @_disfavoredOverload
    public init<K: KeyType & Sendable>(
      to key: K, from oldKey: String, processor: @escaping @Sendable (Any) -> K.ValueType?
    ) where K.ValueType: Codable {
      self.init(key, oldKey, CodableDefaults<K.ValueType>.self, processor)
    }
  }

  /// Performs the migrations, in order.
  public func migrate(_ migrations: [Migration]) {
    for migration in migrations { migration.perform(self) }
  }

  private func migrate<K: KeyType, C: DefaultsCodec<K.ValueType>>(
    _ key: K, _ oldKey: String, _ codec: C.Type, _ processor: (Any) -> K.ValueType?
  ) {
    SettingLock.withLock {
      // The list of the keys is no value.
      if suite == nil && StandardKeys.isReserved(oldKey) { return }
      guard let old = defaults.object(forKey: oldKey) else { return }
      let newKey = key.stringValue
      let isInPlace = oldKey.utf8.elementsEqual(newKey.utf8)
      guard isInPlace ? !isReadable(old, as: codec) : defaults.object(forKey: newKey) == nil else { return }
      guard let value = processor(old) else { return }
      set(key, value, codec, reportsUnreadable: !isInPlace, removing: isInPlace ? nil : oldKey)
    }
  }

  private func isReadable<C: DefaultsCodec>(_ object: Any, as codec: C.Type) -> Bool {
    do {
      _ = try C.value(of: object)
      return true
    } catch {
      return false
    }
  }
}
