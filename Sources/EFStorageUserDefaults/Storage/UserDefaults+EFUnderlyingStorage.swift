public import EFStorageCore
public import Foundation
import FoundationArchives
import Synchronization

extension UserDefaults: EFUnderlyingStorage {
  /// The defaults that are meant where none are named: ``defaultForEFStorage``. Replaceable with
  /// `@_dynamicReplacement(for: makeDefault())`; setting ``defaultForEFStorage`` is the supported way.
  ///
  /// For a subclass there is a default only when one was set that is of it: Foundation on Linux cannot make one.
  public dynamic class func makeDefault() -> Self {
    guard let defaults = defaultForEFStorage as? Self else {
      preconditionFailure("There are no default \(Self.self); set UserDefaults.defaultForEFStorage, or name a storage.")
    }
    return defaults
  }

  /// The defaults that are meant where none are named: `UserDefaults.standard` unless others were set.
  ///
  /// Set it before the first use: references that exist keep the storage they were made with. Any thread.
  public static var defaultForEFStorage: UserDefaults {
    get { replacement.withLock { $0?.defaults } ?? .standard }
    set {
      var shared: SharedDefaults? = SharedDefaults(defaults: newValue)
      // What was there is released after the lock: a subclass may do anything in its `deinit`.
      replacement.withLock { swap(&$0, &shared) }
    }
  }

  /// ``defaultForEFStorage`` under the name that EFStorage gives it.
  public static var shared: UserDefaults {
    get { defaultForEFStorage }
    set { defaultForEFStorage = newValue }
  }

  private static let replacement = Mutex<SharedDefaults?>(nil)
}
