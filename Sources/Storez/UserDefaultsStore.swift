public import Foundation
import FoundationArchives

/// Values in user defaults.
///
/// ```swift
/// let store = UserDefaultsStore(suite: "io.example.settings")
/// store.set(Weather.temperature, value: 21)
/// let temperature = store.get(Weather.temperature)
/// ```
///
/// Values are `Codable`, objects that conform to `NSCoding`, or ``UserDefaultsConvertible``, and optionals of these.
/// They are stored as Storez stores them, so what it wrote is read, and what others wrote as a plain property list
/// value is read too. Where nothing is stored ``get(_:)`` returns the key's default; so it does where what is stored
/// cannot be read, which is reported and kept.
///
/// Any thread may use it. A write reaches the file within a tenth of a second, or when the process exits. A process
/// that is killed before loses it, and nothing else: a file that is found empty or cut off is replaced by the copy
/// beside it, a hidden file whose name ends in `.copy`, which is reported.
///
/// In the standard defaults a store keeps the list of its keys under "storez.keys": no key may have this name.
// Sendable: user defaults may be used from any thread, and lock for themselves; the rest is.
public final class UserDefaultsStore: Store, @unchecked Sendable {
  public let defaults: UserDefaults
  let suite: String?
  let reporter = FailureReporter()

  /// - Parameter suite: The name of the defaults' file. Nil, the main bundle's identifier, or a name that Foundation
  ///   does
  ///   not take for a suite: the standard defaults.
  public init(suite: String?) {
    if let suite, suite != Bundle.main.bundleIdentifier, let defaults = UserDefaults(suiteName: suite) {
      self.defaults = defaults
      self.suite = suite
    } else {
      defaults = .standard
      self.suite = nil
    }
    if let damage = DefaultsSynchronizer.shared.open(defaults) { reporter.reportEarly(Self.failure(damage)) }
  }

  /// Called with what fails, on the thread that gets or sets. A value that cannot be read is told once, until it is
  /// set. Without a handler failures are logged as warnings; the first handler is told at once of a file that was found
  /// damaged when the store was made. See also ``Store/throwing(_:)``.
  public var onFailure: (@Sendable (StorezFailure) -> Void)? {
    get { reporter.handler }
    set { reporter.handler = newValue }
  }

  /// Removes what is stored in the suite. Without a suite: what was set through stores without one, in this process or
  /// an earlier one; what else is in the standard defaults stays.
  public func clear() {
    SettingLock.withLock {
      DefaultsSynchronizer.shared.changing {
        if let suite {
          for key in (defaults.persistentDomain(forName: suite) ?? [:]).keys { defaults.removeObject(forKey: key) }
        } else {
          removeStandardValues()
        }
      }
      noteChange()
    }
  }

  private func removeStandardValues() {
    do {
      for key in try StandardKeys.all(in: defaults) { defaults.removeObject(forKey: key) }
      StandardKeys.removeAll(in: defaults)
    } catch {
      reporter.report(
        StorezFailure(
          .storage, key: StandardKeys.name, "The values in the standard user defaults were not removed.",
          underlying: error))
    }
  }

  // MARK: For the typed functions

  func access<K: KeyType, C: ObjectCodec<K.ValueType>>(_ key: K, _ codec: C.Type) -> Access<K> {
    Access(key: key, reporter: reporter) { [defaults, suite] in
      if suite == nil { try StandardKeys.checkName(key.stringValue) }
      return try defaults.object(forKey: key.stringValue).map { try C.value(of: $0) }
    }
  }

  func set<K: KeyType, C: ObjectCodec<K.ValueType>>(_ key: K, _ value: K.ValueType, _ codec: C.Type) {
    set(key, value, codec) { try write($0, key.stringValue) { true } }
  }

  /// - Parameter write: Writes the object, or removes what is there, and returns whether it did.
  func set<K: KeyType, C: ObjectCodec<K.ValueType>>(
    _ key: K, _ value: K.ValueType, _ codec: C.Type, reportsUnreadable: Bool = true, write: (Any?) throws -> Bool
  ) {
    var access = access(key, codec)
    access.reportsUnreadable = reportsUnreadable
    _ = access.set(value) {
      if suite == nil { try StandardKeys.checkName(key.stringValue) }
      return try C.object(for: $0)
    } write: {
      try write($0)
    }
  }

  /// - Parameter condition: Whether to write, asked when no other thread changes anything.
  /// - Returns: What the condition did.
  func write(_ object: Any?, _ key: String, if condition: () -> Bool) throws -> Bool {
    let isWritten = try DefaultsSynchronizer.shared.changing {
      guard condition() else { return false }
      if let object {
        if suite == nil { try StandardKeys.insert(key, in: defaults) }
        defaults.set(object, forKey: key)
      } else {
        defaults.removeObject(forKey: key)
      }
      return true
    }
    if isWritten { noteChange() }
    return isWritten
  }

  func noteChange() { DefaultsSynchronizer.shared.noteChange(of: defaults, onDamage: onDamage) }

  var onDamage: @Sendable (DefaultsDamage) -> Void {
    { [reporter] damage in reporter.report(Self.failure(damage)) }
  }

  private static func failure(_ damage: DefaultsDamage) -> StorezFailure {
    let message =
      damage.kind == .unwritten
      ? "The file of the user defaults was not written." : "The file of the user defaults was damaged."
    return StorezFailure(.storage, key: "", message, underlying: damage)
  }
}

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

/// The list of the keys in the standard defaults that are a store's, which is kept there too. All with the lock for
/// setting held.
enum StandardKeys {
  /// No key of a store may have this name.
  static let name = "storez.keys"

  static func isReserved(_ key: String) -> Bool { key.utf8.elementsEqual(name.utf8) }

  static func checkName(_ key: String) throws(ConversionError) {
    guard isReserved(key) else { return }
    throw ConversionError(
      "A store in the standard user defaults keeps the list of its keys under \"\(name)\". Use another name.")
  }

  /// - Throws: `ConversionError` if something else is under the name.
  static func all(in defaults: UserDefaults) throws(ConversionError) -> [String] {
    guard let object = defaults.object(forKey: name) else { return [] }
    if let keys = object as? [String] { return keys }
    throw ConversionError(
      "What the standard user defaults have under \"\(name)\" is no list of a store's keys. Remove it.")
  }

  static func insert(_ key: String, in defaults: UserDefaults) throws(ConversionError) {
    let keys = try all(in: defaults)
    if !keys.contains(where: { $0.utf8.elementsEqual(key.utf8) }) { defaults.set(keys + [key], forKey: name) }
  }

  static func removeAll(in defaults: UserDefaults) { defaults.removeObject(forKey: name) }
}
