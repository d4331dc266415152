public import Foundation

/// As in KeychainAccess, subscripts do not throw: a failure goes to ``failureHandler``, and reads as `nil`. To
/// distinguish a missing item, call `get` and `set`, which throw.
extension Keychain {
  /// The item's text, or `nil` if it is missing or after a failure. Setting `nil` removes the item.
  public subscript(key: String, ignoringAttributeSynchronizable: Bool = true) -> String? {
    get { Self.reporting(default: nil) { try get(key) } }
    set {
      Self.reporting(default: ()) {
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }

  /// The item's text, or `nil` if it is missing or after a failure. Setting `nil` removes the item.
  public subscript(string key: String, ignoringAttributeSynchronizable: Bool = true) -> String? {
    get { self[key] }
    set { self[key] = newValue }
  }

  /// The item's data, or `nil` if it is missing or after a failure. Setting `nil` removes the item.
  public subscript(data key: String, ignoringAttributeSynchronizable: Bool = true) -> Data? {
    get { Self.reporting(default: nil) { try getData(key) } }
    set {
      Self.reporting(default: ()) {
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }

  /// The item's data and attributes, or `nil` if it is missing or after a failure.
  public subscript(attributes key: String, ignoringAttributeSynchronizable: Bool = true) -> Attributes? {
    Self.reporting(default: nil) {
      try store.item(options.identity(key), options.waits).map { Attributes($0, itemClass: itemClass) }
    }
  }
}
