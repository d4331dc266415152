public import EFStorageCore
import Synchronization

extension Keychain: EFUnderlyingStorage {
  /// Returns ``defaultForEFStorage``. Replaceable with `@_dynamicReplacement(for: makeDefault())`; setting
  /// ``defaultForEFStorage`` is the supported way.
  public dynamic static func makeDefault() -> Keychain { defaultForEFStorage }

  /// The keychain to use if none is given: this program's, `Keychain()`, unless set.
  ///
  /// Set it before the first use: existing references keep their storage. Any thread.
  public static var defaultForEFStorage: Keychain {
    get { standard.withLock { $0 } }
    set { standard.withLock { $0 = newValue } }
  }

  private static let standard = Mutex(Keychain())

  /// Whether they hold the same items, regardless of labels and time limits.
  public static func == (lhs: Keychain, rhs: Keychain) -> Bool {
    // By bytes, as the service compares; `==` of strings uses canonical equivalence.
    lhs.options.scope.mapValues(KeyBytes.init) == rhs.options.scope.mapValues(KeyBytes.init)
  }
}
