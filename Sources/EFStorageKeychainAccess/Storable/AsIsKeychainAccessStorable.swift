public import Foundation

/// A value that a keychain can store.
public enum AsIsKeychainAccessStorable: Hashable, Sendable {
  case string(String)
  case data(Data)
}
