public import Foundation
import FoundationArchives

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
  /// The value is set with all hooks, and the old one removed in the same step, so that a crash leaves both as they
  /// were or as they are to be. Nothing is changed if nothing is under the old key, if something is under the new one
  /// already, which is newer, if the closure returns `nil`, or if the value cannot be stored, which is reported. So it
  /// can be done at every start.
  ///
  /// That nothing is under the new key is seen once more in the step that writes: what was stored there while the
  /// closure or a hook ran, by whichever thread or process, stays, and so does the old value. No further hook is called
  /// then.
  ///
  /// The old key may be the new one's name: its value is replaced unless it can be read as the new type, now or in the
  /// step that writes.
  public struct Migration {
    let perform: (UserDefaultsStore) -> Void

    private init<K: KeyType, C: ObjectCodec<K.ValueType>>(
      _ key: K, _ oldKey: String, _ codec: C.Type, _ processor: @escaping (Any) -> K.ValueType?
    ) {
      perform = { $0.migrate(key, oldKey, C.self, processor) }
    }

    /// - Parameter processor: Makes the new value of what is stored under the old key: a property list value.
    public init<K: KeyType>(
      to key: K, from oldKey: String, processor: @escaping (Any) -> K.ValueType?
    ) where K.ValueType: UserDefaultsConvertible {
      self.init(key, oldKey, ConvertibleDefaults<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of what is stored under the old key: a property list value.
    public init<K: KeyType>(
      to key: K, from oldKey: String, processor: @escaping (Any) -> K.ValueType?
    ) where K.ValueType: UserDefaultsSupportedType {
      self.init(key, oldKey, CodingDefaults<K.ValueType>.self, processor)
    }

    /// - Parameter processor: Makes the new value of what is stored under the old key: a property list value.
    public init<K: KeyType, V: UserDefaultsSupportedType>(
      to key: K, from oldKey: String, processor: @escaping (Any) -> V??
    ) where K.ValueType == V? {
      self.init(key, oldKey, NullableObject<CodingDefaults<V>>.self, processor)
    }

    /// - Parameter processor: Makes the new value of what is stored under the old key: a property list value.
    @_disfavoredOverload
    public init<K: KeyType>(
      to key: K, from oldKey: String, processor: @escaping (Any) -> K.ValueType?
    ) where K.ValueType: Codable {
      self.init(key, oldKey, CodableDefaults<K.ValueType>.self, processor)
    }
  }

  /// Performs the migrations, in order.
  public func migrate(_ migrations: [Migration]) {
    for migration in migrations { migration.perform(self) }
  }

  private func migrate<K: KeyType, C: ObjectCodec<K.ValueType>>(
    _ key: K, _ oldKey: String, _ codec: C.Type, _ processor: (Any) -> K.ValueType?
  ) {
    SettingLock.withLock {
      // The list of the keys is no value.
      if suite == nil && StandardKeys.isReserved(oldKey) { return }
      guard let old = defaults.object(forKey: oldKey) else { return }
      let newKey = key.stringValue
      let isInPlace = oldKey.utf8.elementsEqual(newKey.utf8)
      func isDue() -> Bool {
        let object = defaults.object(forKey: newKey)
        return isInPlace ? object.map { !isReadable($0, as: codec) } ?? false : object == nil
      }
      // Once more after the closure, which may take its time.
      guard isDue(), let value = processor(old), isDue() else { return }
      if isInPlace {
        set(key, value, codec, reportsUnreadable: false) { try replaceUnreadable(newKey, $0, codec) }
      } else {
        set(key, value, codec) { try move($0, from: oldKey, to: newKey) }
      }
    }
  }

  /// In one step, so that the file has both changes or none. Returns `false`, and changes nothing, if something is
  /// under the new key.
  private func move(_ object: Any?, from oldKey: String, to key: String) throws -> Bool {
    guard let object else {
      let isAbsent = DefaultsSynchronizer.shared.changing {
        guard defaults.object(forKey: key) == nil else { return false }
        defaults.removeObject(forKey: oldKey)
        return true
      }
      if isAbsent { noteChange() }
      return isAbsent
    }
    if suite == nil { _ = try StandardKeys.all(in: defaults) }
    return DefaultsSynchronizer.shared.add(object, forKey: key, to: defaults, onDamage: onDamage) {
      if suite == nil {
        // That it can be was seen above. If another process has damaged the list since, `clear()` will say so.
        do { try StandardKeys.insert(key, in: defaults) } catch {}
      }
      defaults.removeObject(forKey: oldKey)
    }
  }

  /// Writes an object, unless what is under the key can be read by now. Returns whether it did.
  ///
  /// Reading may run the program's code, which may use other defaults. So it is done before the step that writes, in
  /// which nothing else can be waited for; this one sees that the same object is still there.
  private func replaceUnreadable<C: ObjectCodec>(_ key: String, _ object: Any?, _ codec: C.Type) throws -> Bool {
    // Others may write after each look. Then the old value stays, as after every other write in between.
    for _ in 0..<8 {
      let judged = StoredObject(defaults, key)
      guard let present = judged.object, !isReadable(present, as: codec) else { return false }
      if try write(object, key, if: { StoredObject(defaults, key).isSame(as: judged) }) { return true }
    }
    return false
  }

  private func isReadable<C: ObjectCodec>(_ object: Any, as codec: C.Type) -> Bool {
    do {
      _ = try C.value(of: object)
      return true
    } catch {
      return false
    }
  }
}
