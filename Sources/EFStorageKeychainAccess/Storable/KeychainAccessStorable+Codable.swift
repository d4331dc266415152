import EFStorageCore
import Foundation
import FoundationArchives

extension KeychainAccessStorable where Self: Codable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    Result { .data(try JSON.data(of: self)) }
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let data = try keychain.getData(key) else { return nil }
      // A decoding error would quote from the secret.
      do { return try JSON.value(Self.self, from: data) } catch { throw unreadable }
    }
  }
}
