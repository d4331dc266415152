public import EFStorageCore

/// A property that is kept in the user's keychain.
///
/// ```swift
/// @EFStorageKeychainAccess(forKey: "token")
/// var token: String?
/// ```
@propertyWrapper
public struct EFStorageKeychainAccess<Content: KeychainAccessStorable>: EFSingleInstanceStorageReferenceWrapper {
  public var _ref: EFStorageKeychainAccessRef<Content>
  public let makeDefaultContent: () -> Content
  public let persistDefaultContent: Bool

  public init(
    __ref: EFStorageKeychainAccessRef<Content>, makeDefaultContent: @escaping () -> Content, persistDefaultContent: Bool
  ) {
    _ref = __ref
    self.makeDefaultContent = makeDefaultContent
    self.persistDefaultContent = persistDefaultContent
  }

  public var wrappedValue: Content {
    get { contentOrDefault() }
    nonmutating set { _ref.content = newValue }
    // `+=` is one change for the threads of this process.
    nonmutating _modify {
      let taken = _ref.turn.begin()
      var content = contentOrDefault()
      defer { _ref.turn.end(taken) { _ref.content = content } }
      yield &content
    }
  }

  /// The reference: `$name.lastFailure`.
  public var projectedValue: EFStorageKeychainAccessRef<Content> { _ref }

  public func removeContentFromUnderlyingStorage() { _ref.content = nil }
}

// Unchecked because of the default's closure, an expression of the caller's that any thread may evaluate: see
// `makeDefaultContent`.
extension EFStorageKeychainAccess: @unchecked Sendable where Content: Sendable {}
