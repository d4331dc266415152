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

  /// Whether they hold the same items. How they are told to label or to wait makes no difference.
  public static func == (lhs: Keychain, rhs: Keychain) -> Bool {
    guard lhs.itemClass == rhs.itemClass, lhs.accessGroup ?? "" == rhs.accessGroup ?? "" else { return false }
    return switch lhs.itemClass {
    case .genericPassword: lhs.service == rhs.service
    case .internetPassword:
      lhs.server == rhs.server && lhs.protocolType == rhs.protocolType
        && lhs.authenticationType == rhs.authenticationType
    }
  }
}
