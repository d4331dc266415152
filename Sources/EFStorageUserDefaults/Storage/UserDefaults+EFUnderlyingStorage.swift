public import EFStorageCore
public import Foundation
import FoundationArchives
import Synchronization

extension UserDefaults: EFUnderlyingStorage {
  /// Returns ``defaultForEFStorage``. Replaceable with `@_dynamicReplacement(for: makeDefault())`; setting
  /// ``defaultForEFStorage`` is the supported way. A subclass has a default only if one of its type was set, since
  /// Foundation on Linux cannot make one.
  public dynamic class func makeDefault() -> Self {
    guard let defaults = defaultForEFStorage as? Self else {
      preconditionFailure("There are no default \(Self.self); set UserDefaults.defaultForEFStorage, or name a storage.")
    }
    return defaults
  }

  /// The defaults to use if none are given: `UserDefaults.standard` unless set.
  ///
  /// Set it before the first use: existing references keep their storage. Any thread.
  public static var defaultForEFStorage: UserDefaults {
    get { replacement.withLock { $0?.defaults } ?? .standard }
    set {
      var shared: SharedDefaults? = SharedDefaults(defaults: newValue)
      // Released after the lock: a subclass may do anything in its `deinit`.
      replacement.withLock { swap(&$0, &shared) }
    }
  }

  /// The same as ``defaultForEFStorage``, under EFStorage's name.
  public static var shared: UserDefaults {
    get { defaultForEFStorage }
    set { defaultForEFStorage = newValue }
  }

  private static let replacement = Mutex<SharedDefaults?>(nil)
}
