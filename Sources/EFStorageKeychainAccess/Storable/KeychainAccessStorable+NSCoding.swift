import EFStorageCore
public import Foundation
import FoundationArchives

extension KeychainAccessStorable where Self: NSCoding {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> { archived() }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { unarchived(keychain, key) }

  fileprivate func archived() -> Result<AsIsKeychainAccessStorable, any Error> {
    Result { .data(try KeyedArchive.data(of: self, as: Self.self)) }
  }

  fileprivate static func unarchived(_ keychain: Keychain, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let data = try keychain.getData(key) else { return nil }
      do { return try KeyedArchive.object(Self.self, from: data) } catch { throw unreadable }
    }
  }
}

// A class that is both is stored as its coder says.
extension KeychainAccessStorable where Self: NSCoding & Codable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> { archived() }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { unarchived(keychain, key) }
}
