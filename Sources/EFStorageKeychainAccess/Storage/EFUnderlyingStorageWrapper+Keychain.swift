public import EFStorageCore

extension EFUnderlyingStorageWrapper {
  /// The content under a key of this keychain; setting `nil` removes it.
  public subscript<Content: KeychainAccessStorable>(dynamicMember key: String) -> Content? where Base == Keychain {
    get { EFStorageKeychainAccessRef.forKey(key, in: base).content }
    set { EFStorageKeychainAccessRef.forKey(key, in: base).content = newValue }
  }

  /// The content under a key of the default keychain; setting nil removes it.
  public subscript<Content: KeychainAccessStorable>(dynamicMember key: String) -> Content?
  where Base == Keychain.Type {
    get { EFStorageKeychainAccessRef.forKey(key).content }
    set { EFStorageKeychainAccessRef.forKey(key).content = newValue }
  }
}
