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
/// Values are `Codable`, objects that conform to `NSCoding`, or ``UserDefaultsConvertible``, and optionals of these. They
/// are stored as Storez stores them, so what it wrote is read, and what others wrote as a plain property list value is
/// read too. Where nothing is stored ``get(_:)`` returns the key's default; so it does where what is stored cannot be
/// read, which is reported and kept.
///
/// Any thread may use it. A write reaches the file within a tenth of a second, or when the process exits; one killed
/// before loses it.
// Sendable: user defaults may be used from any thread, and lock for themselves; the rest is.
public final class UserDefaultsStore: Store, @unchecked Sendable {
  public let defaults: UserDefaults
  let suite: String?
  let reporter = FailureReporter()

  /// - Parameter suite: The name of the defaults' file. Nil, the main bundle's identifier, or a name that Foundation does
  ///   not take for a suite: the standard defaults.
  public init(suite: String?) {
    if let suite, suite != Bundle.main.bundleIdentifier, let defaults = UserDefaults(suiteName: suite) {
      self.defaults = defaults
      self.suite = suite
    } else {
      defaults = .standard
      self.suite = nil
    }
  }

  /// Called with what fails, on the thread that gets or sets; a value that cannot be read once, until it is set. While
  /// there is none it is logged as a warning. See also ``Store/throwing(_:)``.
  public var onFailure: (@Sendable (StorezFailure) -> Void)? {
    get { reporter.handler }
    set { reporter.handler = newValue }
  }

  /// Removes what is stored in the suite. Without a suite: what was set through stores without one, in this process or an
  /// earlier one; what else is in the standard defaults stays.
  public func clear() {
    SettingLock.withLock {
      DefaultsSynchronizer.shared.changing {
        if let suite {
          for key in (defaults.persistentDomain(forName: suite) ?? [:]).keys { defaults.removeObject(forKey: key) }
        } else {
          for key in StandardKeys.all(in: defaults) { defaults.removeObject(forKey: key) }
          StandardKeys.removeAll(in: defaults)
        }
      }
      noteChange()
    }
  }

  // MARK: For the typed functions

  func access<K: KeyType, C: DefaultsCodec<K.ValueType>>(_ key: K, _ codec: C.Type) -> Access<K> {
    Access(key: key, reporter: reporter) { [defaults] in
      try DefaultsSynchronizer.shared.changing { defaults.object(forKey: key.stringValue) }.map { try C.value(of: $0) }
    }
  }

  @discardableResult
  func set<K: KeyType, C: DefaultsCodec<K.ValueType>>(
    _ key: K, _ value: K.ValueType, _ codec: C.Type, reportsUnreadable: Bool = true
  ) -> Bool {
    var access = access(key, codec)
    access.reportsUnreadable = reportsUnreadable
    return access.set(value) {
      try C.object(for: $0)
    } write: {
      write($0, key.stringValue)
    }
  }

  private func write(_ object: Any?, _ key: String) {
    guard let object else { return remove(key) }
    DefaultsSynchronizer.shared.changing {
      if suite == nil { StandardKeys.insert(key, in: defaults) }
      defaults.set(object, forKey: key)
    }
    noteChange()
  }

  func remove(_ key: String) {
    DefaultsSynchronizer.shared.changing { defaults.removeObject(forKey: key) }
    noteChange()
  }

  private func noteChange() {
    DefaultsSynchronizer.shared.noteChange(of: defaults) { [reporter] in
      reporter.report(
        StorezFailure(
          .storage, key: "",
          "The user defaults cannot be written to their file. Look at the disk's space and permissions."))
    }
  }
}
