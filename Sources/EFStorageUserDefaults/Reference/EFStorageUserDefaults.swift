public import EFStorageCore
import Foundation

/// A property that is kept in user defaults.
///
/// ```swift
/// @EFStorageUserDefaults(forKey: "theme")
/// var theme: String = "light"
/// ```
@propertyWrapper
public struct EFStorageUserDefaults<Content: UserDefaultsStorable>: EFSingleInstanceStorageReferenceWrapper {
  public var _ref: EFStorageUserDefaultsRef<Content>
  public let makeDefaultContent: () -> Content
  public let persistDefaultContent: Bool

  public init(
    __ref: EFStorageUserDefaultsRef<Content>, makeDefaultContent: @escaping () -> Content, persistDefaultContent: Bool
  ) {
    _ref = __ref
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
  }

  public var wrappedValue: Content {
    get { contentOrDefault() }
    nonmutating set { _ref.content = newValue }
  }

  /// The reference: `$name.values`, `$name.observed`, `$name.lastFailure`.
  public var projectedValue: EFStorageUserDefaultsRef<Content> { _ref }

  public func removeContentFromUnderlyingStorage() { _ref.content = nil }
}
