public import Foundation

/// What a keychain stores.
public enum AsIsKeychainAccessStorable: Hashable, Sendable {
  case string(String)
  case data(Data)
}
