import EFStorageCore

/// A keychain has no null: storing nil removes what is there.
extension Optional: KeychainAccessStorable where Wrapped: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    self?.asKeychainAccessStorable()
      ?? .failure(KeychainError(.conversion, "A keychain cannot hold nil; remove the item."))
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Wrapped?? {
    LoadingErrors.noting(forKey: key) { try Wrapped.loadFromKeychain(keychain, forKey: key).map(Optional.some) }
  }
}

/// An optional that is a content.
protocol OptionalContent {
  var isNone: Bool { get }
}

extension Optional: OptionalContent {
  var isNone: Bool { self == nil }
}
