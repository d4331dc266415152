public import Foundation

/// As in KeychainAccess, subscripts throw nothing: a failure goes to ``failureHandler``, and reads as nil. Use ``get(_:ignoringAttributeSynchronizable:)``
/// and ``set(_:key:ignoringAttributeSynchronizable:)-(String,_,_)`` where it matters whether a nil is an absent item.
extension Keychain {
  /// The item's text; nil: there is none, or a failure. To set nil removes the item.
  public subscript(key: String, ignoringAttributeSynchronizable: Bool = true) -> String? {
    get { Self.reporting(default: nil) { () throws(KeychainError) in try get(key) } }
    set {
      Self.reporting(default: ()) { () throws(KeychainError) in
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }

  /// The item's text; nil: there is none, or a failure. To set nil removes the item.
  public subscript(string key: String, ignoringAttributeSynchronizable: Bool = true) -> String? {
    get { self[key] }
    set { self[key] = newValue }
  }

  /// The item's data; nil: there is none, or a failure. To set nil removes the item.
  public subscript(data key: String, ignoringAttributeSynchronizable: Bool = true) -> Data? {
    get { Self.reporting(default: nil) { () throws(KeychainError) in try getData(key) } }
    set {
      Self.reporting(default: ()) { () throws(KeychainError) in
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }

  /// The item's data and attributes; nil: there is none, or a failure.
  public subscript(attributes key: String, ignoringAttributeSynchronizable: Bool = true) -> Attributes? {
    Self.reporting(default: nil) { () throws(KeychainError) in
      try store.item(options.identity(key), options.patience).map { Attributes($0, itemClass: itemClass) }
    }
  }
}
