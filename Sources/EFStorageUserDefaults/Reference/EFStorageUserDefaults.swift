public import EFStorageCore
public import Foundation

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
  /// 10 ms after ``UserDefaultsContents``. A change between the read and the end of the tracked closure is notified
  /// after that end.
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
