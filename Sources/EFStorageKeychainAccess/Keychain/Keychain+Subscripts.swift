public import Foundation

/// As in KeychainAccess, subscripts throw nothing: a failure goes to ``failureHandler``, and reads as nil. Where it
/// matters whether nil means that there is no item, call `get` and `set`, which throw.
extension Keychain {
  /// The item's text, or `nil` if there is none, or a failure. To set nil removes the item.
  public subscript(key: String, ignoringAttributeSynchronizable: Bool = true) -> String? {
    get { Self.reporting(default: nil) { try get(key) } }
    set {
      Self.reporting(default: ()) {
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }

  /// The item's text, or `nil` if there is none, or a failure. To set nil removes the item.
  public subscript(string key: String, ignoringAttributeSynchronizable: Bool = true) -> String? {
    get { self[key] }
    set { self[key] = newValue }
  }

  /// The item's data, or `nil` if there is none, or a failure. To set nil removes the item.
  public subscript(data key: String, ignoringAttributeSynchronizable: Bool = true) -> Data? {
    get { Self.reporting(default: nil) { try getData(key) } }
    set {
      Self.reporting(default: ()) {
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }

  /// The item's data and attributes, or `nil` if there is none, or a failure.
  public subscript(attributes key: String, ignoringAttributeSynchronizable: Bool = true) -> Attributes? {
    Self.reporting(default: nil) {
      try store.item(options.identity(key), options.waits).map { Attributes($0, itemClass: itemClass) }
    }
  }
}
