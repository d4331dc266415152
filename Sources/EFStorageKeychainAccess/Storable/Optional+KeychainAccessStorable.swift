import EFStorageCore

/// Storing `nil` removes the item, as a keychain has no null.
extension Optional: KeychainAccessStorable where Wrapped: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    self?.asKeychainAccessStorable()
      ?? .failure(KeychainError(.conversion, "A keychain cannot hold nil; remove the item."))
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Wrapped?? {
    LoadingErrors.noting(forKey: key) { try Wrapped.loadFromKeychain(keychain, forKey: key).map(Optional.some) }
  }
}

protocol OptionalContent {
  var isNone: Bool { get }
}

extension Optional: OptionalContent {
  var isNone: Bool { self == nil }
}
