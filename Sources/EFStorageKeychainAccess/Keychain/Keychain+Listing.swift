import Foundation

/// Lists of items in no particular order. They are not a snapshot: concurrent changes may be included or not.
///
/// As in KeychainAccess, functions that begin with `all` do not throw: a failure goes to ``failureHandler``, and the
/// result is empty. ``keys()`` and ``items()`` throw it.
extension Keychain {
  /// The keys of this keychain's items; empty after a failure, which goes to ``failureHandler``.
  public func allKeys() -> [String] {
    reporting(default: []) { try keys() }
  }

  /// This keychain's items with their values, as dictionaries of the keys `class`, `service` or `server`, `protocol`
  /// and `authenticationType`, `accessGroup`, `key`, `value` (a `String`, or `Data` that is not UTF-8), `accessibility`
  /// and `synchronizable`; empty after a failure, which goes to ``failureHandler``.
  public func allItems() -> [[String: Any]] {
    reporting(default: []) { try items() }
  }

  /// The service or server, and the key, of each of the user's items of this class, stored by this package in any
  /// program; empty after a failure, which goes to ``failureHandler``.
  public static func allKeys(_ itemClass: ItemClass) -> [(String, String)] {
    reporting(default: []) {
      try list(itemClass, scope(itemClass), withSecrets: false, .shared, WaitOptions())
        .map { ($0[itemClass == .genericPassword ? "service" : "server"] as? String ?? "", $0["key"] as? String ?? "") }
    }
  }

  /// Each of the user's items of this class, stored by this package in any program, as in ``allItems()`` but without
  /// its value; empty after a failure, which goes to ``failureHandler``.
  public static func allItems(_ itemClass: ItemClass) -> [[String: Any]] {
    reporting(default: []) {
      try list(itemClass, scope(itemClass), withSecrets: false, .shared, WaitOptions())
    }
  }

  /// The keys of this keychain's items.
  public func keys() throws -> [String] {
    try store.items(options.checkedScope(), withSecrets: false, options.waits)
      .compactMap { $0.attributes[Options.Name.key] }
  }

  /// This keychain's items, as in ``allItems()``.
  public func items() throws -> [[String: Any]] {
    try Self.list(itemClass, options.checkedScope(), withSecrets: true, store, options.waits)
  }

  private static func scope(_ itemClass: ItemClass) -> [String: String] {
    [Options.Name.itemClass: itemClass.schema]
  }

  private static func list(
    _ itemClass: ItemClass, _ scope: [String: String], withSecrets: Bool, _ store: ItemStore, _ waits: WaitOptions
  ) throws(KeychainError) -> [[String: Any]] {
    try store.items(scope, withSecrets: withSecrets, waits).map { dictionary(of: $0, itemClass) }
  }

  private static func dictionary(of item: StoredItem, _ itemClass: ItemClass) -> [String: Any] {
    let attributes = Attributes(item, itemClass: itemClass)
    var dictionary: [String: Any] = ["class": itemClass.description]
    dictionary["accessGroup"] = attributes.accessGroup
    dictionary["service"] = attributes.service
    dictionary["server"] = attributes.server
    dictionary["protocol"] = attributes.protocol.flatMap(ProtocolType.init)?.description
    dictionary["authenticationType"] = attributes.authenticationType.flatMap(AuthenticationType.init)?.description
    dictionary["key"] = attributes.account
    if let data = attributes.data { dictionary["value"] = String(validating: data, as: UTF8.self) ?? data }
    dictionary["accessibility"] = attributes.accessible.flatMap(Accessibility.init)?.description
    dictionary["synchronizable"] = attributes.synchronizable.map { String($0) }
    return dictionary
  }
}
