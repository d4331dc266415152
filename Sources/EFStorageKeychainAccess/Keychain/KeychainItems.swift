public import Foundation
import Synchronization

/// Access to single items. The parameter `ignoringAttributeSynchronizable`, for clients of KeychainAccess, is **without
/// effect on Linux**.
///
/// Each throws a ``KeychainError``: ``KeychainError/Code/invalidKey`` for a key with a NUL character, and the codes for
/// a service that is missing, slow, locked or refuses: see ``KeychainError/Code``. They are declared with a plain
/// `throws`, as in KeychainAccess: with typed throws, `catch let error as KeychainError` crashes the compiler of Swift
/// 6.3.
extension Keychain {
  /// The item's text, or `nil` if it is missing. The same as ``getString(_:ignoringAttributeSynchronizable:)``.
  public func get(
    _ key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws -> String? {
    try getString(key, ignoringAttributeSynchronizable: ignoringAttributeSynchronizable)
  }

  /// The item's text, or `nil` if it is missing. Throws ``KeychainError/Code/conversion`` if its data is not UTF-8.
  public func getString(
    _ key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws -> String? {
    guard let secret = try store.secret(options.identity(key), options.waits) else { return nil }
    guard let text = secret.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) else {
      throw KeychainError(.conversion, "The item is not text in UTF-8. Read it with getData(_:).")
    }
    return text
  }

  /// The item's data (for a text its UTF-8), or `nil` if it is missing.
  public func getData(
    _ key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws -> Data? {
    try store.secret(options.identity(key), options.waits)?.withUnsafeBytes { Data($0) }
  }

  /// Calls `handler` with the item's data and attributes, or `nil` if it is missing, and returns its result.
  public func get<T>(
    _ key: String, ignoringAttributeSynchronizable: Bool = true, handler: (Attributes?) throws -> T
  ) throws -> T {
    let item = try store.item(options.identity(key), options.waits)
    return try handler(item.map { Attributes($0, itemClass: itemClass) })
  }

  /// Sets the item to a text, which may contain any character, also NUL.
  public func set(
    _ value: String, key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws {
    var value = value
    try write(value.withUTF8 { Secret(item: UnsafeRawBufferPointer($0), contentType: .text) }, key)
  }

  /// Sets the item to data, up to the some hundred megabytes that a message of the bus can carry.
  public func set(
    _ value: Data, key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws {
    try write(value.withUnsafeBytes { Secret(item: $0, contentType: .data) }, key)
  }

  /// Removes the item, if it exists.
  public func remove(_ key: String, ignoringAttributeSynchronizable: Bool = true) throws {
    try store.remove(options.identity(key), options.waits)
  }

  /// Removes every item of this keychain, but not of other services, servers or access groups. Not atomic.
  public func removeAll() throws {
    try store.remove(options.checkedScope(), options.waits)
  }

  /// Returns whether an item exists, locked or not, so it never prompts.
  ///
  /// - Parameter withoutAuthenticationUI: For clients of KeychainAccess; without effect.
  public func contains(_ key: String, withoutAuthenticationUI: Bool = false) throws -> Bool {
    try store.contains(options.identity(key), options.waits)
  }

  /// Sets the item unless it exists, locked or not, atomically across processes. Returns whether it was set.
  func add(_ value: String, key: String) throws -> Bool {
    var value = value
    return try add(value.withUTF8 { Secret(item: UnsafeRawBufferPointer($0), contentType: .text) }, key)
  }

  func add(_ value: Data, key: String) throws -> Bool {
    try add(value.withUnsafeBytes { Secret(item: $0, contentType: .data) }, key)
  }

  private func add(_ secret: Secret, _ key: String) throws(KeychainError) -> Bool {
    try store.add(
      secret, identity: options.identity(key), schema: itemClass.schema,
      label: options.checkedLabel() ?? options.defaultLabel(key), additions: options.additions(), options.waits)
  }

  private func write(_ secret: Secret, _ key: String) throws(KeychainError) {
    try store.write(
      secret, identity: options.identity(key), schema: itemClass.schema, label: options.checkedLabel(),
      defaultLabel: options.defaultLabel(key), additions: options.additions(), options.waits)
  }
}

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

extension Keychain {
  /// Receives the failures of subscripts and of the listings that begin with `all`, which do not throw. By default it
  /// writes to the standard error.
  ///
  /// Process-wide. Any thread may replace it; it is called on the failing thread without a lock. An error never holds a
  /// secret.
  public static var failureHandler: @Sendable (KeychainError) -> Void {
    get { handler.withLock { $0 } }
    set {
      // Released after the lock: it may be the last reference to an owner whose `deinit` comes here.
      let old = handler.withLock { handler in
        defer { handler = newValue }
        return handler
      }
      withExtendedLifetime(old) {}
    }
  }

  private static let handler = Mutex<@Sendable (KeychainError) -> Void> { error in
    FileHandle.standardError.write(Data("Keychain: \(error)\n".utf8))
  }

  /// Returns the value, or passes a failure to the handler and returns the default.
  static func reporting<Value>(default: Value, _ body: () throws -> Value) -> Value {
    do {
      return try body()
    } catch {
      failureHandler(KeychainError(wrapping: error))
      return `default`
    }
  }

  func reporting<Value>(default: Value, _ body: () throws -> Value) -> Value {
    Self.reporting(default: `default`, body)
  }
}

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

/// The secret and the stored properties of one item.
///
/// The names are KeychainAccess's. Linux has no references to items (`ref`, `persistentRef`) and no access control.
/// Attributes set with ``Keychain/attributes(_:)`` have the same names, and are text.
public struct Attributes: Sendable {
  /// ``ItemClass/rawValue``.
  public let `class`: String?
  /// The secret, copied out of the memory that is not paged out.
  public let data: Data?
  /// The service and the key, unless the keychain had a label.
  public let label: String?
  /// To the second.
  public let creationDate: Date?
  /// To the second.
  public let modificationDate: Date?

  private let stored: [String: String]

  init(_ item: StoredItem, itemClass: ItemClass) {
    `class` = itemClass.rawValue
    data = item.secret?.withUnsafeBytes { Data($0) }
    label = item.label
    creationDate = item.created
    modificationDate = item.modified
    stored = item.attributes
  }

  /// The key.
  public var account: String? { stored[Options.Name.key] }
  public var service: String? { stored[Options.Name.service] }
  public var accessGroup: String? { nonEmpty(Options.Name.accessGroup) }
  public var server: String? { stored[Options.Name.server] }
  public var port: Int? { stored[Options.Name.port].flatMap { Int($0) } }
  /// The `rawValue` of a ``ProtocolType``.
  public var `protocol`: String? { stored[Options.Name.protocolType] }
  /// The `rawValue` of an ``AuthenticationType``.
  public var authenticationType: String? { stored[Options.Name.authenticationType] }
  public var comment: String? { stored[Options.Name.comment] }
  /// The `rawValue` of an ``Accessibility``, if it was set. Recorded, not enforced.
  public var accessible: String? { stored[Options.Name.accessibility] }
  /// If set. Recorded; nothing is synchronized.
  public var synchronizable: Bool? { stored[Options.Name.synchronizable].flatMap { Bool($0) } }
  public var attributeDescription: String? { stored["attributeDescription"] }
  public var creator: String? { stored["creator"] }
  public var type: String? { stored["type"] }
  public var isInvisible: Bool? { stored["isInvisible"].flatMap { Bool($0) } }
  public var isNegative: Bool? { stored["isNegative"].flatMap { Bool($0) } }
  public var generic: Data? { stored["generic"].flatMap { Data(base64Encoded: $0) } }
  public var securityDomain: String? { stored["securityDomain"] }
  public var path: String? { stored["path"] }

  /// An attribute by its name in the service, as text.
  public subscript(key: String) -> Any? { stored[key] }

  private func nonEmpty(_ name: String) -> String? {
    stored[name].flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// Without the secret, however it is printed.
extension Attributes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String {
    let fields = stored.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    return "[label: \(label ?? ""), \(fields.joined(separator: ", ")), data: \(data?.count ?? 0) bytes]"
  }

  public var debugDescription: String { description }

  public var customMirror: Mirror {
    Mirror(self, children: ["label": label as Any, "attributes": stored], displayStyle: .struct)
  }
}
