public import EFStorageCore
public import Foundation

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
