// Importing a container is enough.
@_exported public import EFStorageCore
public import Foundation
import FoundationArchives
import Synchronization

/// A property that is kept in user defaults.
///
/// ```swift
/// @EFStorageUserDefaults(forKey: "theme")
/// var theme: String = "light"
/// ```
@propertyWrapper
public struct EFStorageUserDefaults<Content: UserDefaultsStorable>: EFSingleInstanceStorageReferenceWrapper {
  public var _ref: EFStorageUserDefaultsRef<Content> {
    didSet { if observed != nil { observed = ObservedDefaultsKey(_ref.storage, _ref.key) } }
  }
  public let makeDefaultContent: () -> Content
  public let persistDefaultContent: Bool
  private var observed: ObservedDefaultsKey?

  public init(
    __ref: EFStorageUserDefaultsRef<Content>, makeDefaultContent: @escaping () -> Content, persistDefaultContent: Bool
  ) {
    _ref = __ref
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
  }

  /// A property that Observation tracks: views and `withObservationTracking(_:onChange:)` are notified of changes up to
  /// 10 ms after ``EFStorageUserDefaultsRef/values``. A change between the read and the end of the tracked closure is
  /// notified after that end.
  public init(
    wrappedValue makeDefaultContent: @escaping @autoclosure () -> Content,
    forKey key: String, in storage: UserDefaults = .makeDefault(), persistDefaultContent: Bool = false,
    isObserved: Bool
  ) {
    self.init(
      wrappedValue: makeDefaultContent(), forKey: key, in: storage, persistDefaultContent: persistDefaultContent)
    if isObserved { observed = ObservedDefaultsKey(storage, key) }
  }

  public var wrappedValue: Content {
    get {
      _ = observed?.moment
      return contentOrDefault()
    }
    nonmutating set { _ref.content = newValue }
    // `+=` is one change for the threads of this process.
    nonmutating _modify {
      let taken = _ref.turn.begin()
      var content = wrappedValue
      defer { _ref.turn.end(taken) { _ref.content = content } }
      yield &content
    }
  }

  /// The reference: `$name.values`, `$name.lastFailure`.
  public var projectedValue: EFStorageUserDefaultsRef<Content> { _ref }

  public func removeContentFromUnderlyingStorage() { _ref.content = nil }
}

// Unchecked because of the default's closure, an expression of the caller's that any thread may evaluate: see
// `makeDefaultContent`.
extension EFStorageUserDefaults: @unchecked Sendable where Content: Sendable {}

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

extension EFUnderlyingStorageWrapper {
  /// The content under a key of these defaults; setting `nil` removes it.
  public subscript<Content: UserDefaultsStorable>(dynamicMember key: String) -> Content? where Base == UserDefaults {
    get { EFStorageUserDefaultsRef.forKey(key, in: base).content }
    set { EFStorageUserDefaultsRef.forKey(key, in: base).content = newValue }
  }

  /// The content under a key of the default defaults; setting nil removes it.
  public subscript<Content: UserDefaultsStorable>(dynamicMember key: String) -> Content?
  where Base == UserDefaults.Type {
    get { EFStorageUserDefaultsRef.forKey(key).content }
    set { EFStorageUserDefaultsRef.forKey(key).content = newValue }
  }
}
