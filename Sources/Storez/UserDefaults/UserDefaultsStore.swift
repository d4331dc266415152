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
