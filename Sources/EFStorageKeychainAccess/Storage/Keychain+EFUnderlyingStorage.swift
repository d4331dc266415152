public import EFStorageCore
import Synchronization

extension Keychain: EFUnderlyingStorage {
  /// The keychain that is meant where none is named: ``defaultForEFStorage``. Replaceable with
  /// `@_dynamicReplacement(for: makeDefault())`; setting ``defaultForEFStorage`` is the supported way.
  public dynamic static func makeDefault() -> Keychain { defaultForEFStorage }

  /// The keychain that is meant where none is named: that of this program, `Keychain()`, unless another was set.
  ///
  /// Set it before the first use: references that exist keep the storage they were made with. Any thread.
  public static var defaultForEFStorage: Keychain {
    get { standard.withLock { $0 } }
    set { standard.withLock { $0 = newValue } }
  }

  private static let standard = Mutex(Keychain())

  /// Whether they hold the same items. Labels and limits of time make no difference.
  public static func == (lhs: Keychain, rhs: Keychain) -> Bool {
    // By bytes, as the service compares: for `==` of strings "é" as one character and as two are the same.
    lhs.options.scope.mapValues(KeyBytes.init) == rhs.options.scope.mapValues(KeyBytes.init)
  }
}
