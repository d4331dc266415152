public import Foundation
import Synchronization

/// Access to single items.
///
/// Each throws a ``KeychainError``: ``KeychainError/Code/invalidKey`` for a key with a NUL character, and the codes for
/// a service that is missing, slow, locked or refuses: see ``KeychainError/Code``. They are declared with a plain
/// `throws`, as in KeychainAccess: with typed throws, `catch let error as KeychainError` crashes the compiler of Swift
/// 6.3.
extension Keychain {
  /// The item's text, or `nil` if it is missing. Throws ``KeychainError/Code/conversion`` if its data is not UTF-8.
  public func get(_ key: String) throws -> String? {
    guard let secret = try store.secret(options.identity(key), options.waits) else { return nil }
    guard let text = unsafe secret.withUnsafeBytes({ unsafe String(validating: $0, as: UTF8.self) }) else {
      throw KeychainError(.conversion, "The item is not text in UTF-8. Read it with getData(_:).")
    }
    return text
  }

  /// The item's data (for a text its UTF-8), or `nil` if it is missing.
  public func getData(_ key: String) throws -> Data? { try store.secret(options.identity(key), options.waits)?.data }

  /// Calls `handler` with the item's data and attributes, or `nil` if it is missing, and returns its result.
  public func get<T>(_ key: String, handler: (Attributes?) throws -> T) throws -> T {
    let item = try store.item(options.identity(key), options.waits)
    return try handler(item.map { Attributes($0) })
  }

  /// Sets the item to a text, which may contain any character, also NUL.
  public func set(_ value: String, key: String) throws { try write(.text(value), key) }

  /// Sets the item to data, up to the some hundred megabytes that a message of the bus can carry.
  public func set(_ value: Data, key: String) throws { try write(.data(value), key) }

  /// Removes the item, if it exists.
  public func remove(_ key: String) throws { try store.remove(options.identity(key), options.waits) }

  /// Removes every item of this keychain, but not of other services, servers or access groups. Not atomic.
  public func removeAll() throws { try store.remove(options.checkedScope(), options.waits) }

  /// Returns whether an item exists, locked or not, so it never prompts.
  public func contains(_ key: String) throws -> Bool { try store.contains(options.identity(key), options.waits) }

  /// Sets the item unless it exists, locked or not, atomically across processes. Returns whether it was set.
  func add(_ secret: Secret, key: String) throws(KeychainError) -> Bool {
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
  public subscript(key: String) -> String? {
    get { Self.reporting(default: nil) { try get(key) } }
    set {
      Self.reporting(default: ()) {
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }

  /// The item's data, or `nil` if it is missing or after a failure. Setting `nil` removes the item.
  public subscript(data key: String) -> Data? {
    get { Self.reporting(default: nil) { try getData(key) } }
    set {
      Self.reporting(default: ()) {
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }
}

extension Keychain {
  /// Receives the failures of subscripts and of ``allKeys()``, which do not throw. By default it writes to the standard
  /// error.
  ///
  /// Process-wide. Any thread may replace it; it is called on the failing thread without a lock. An error never holds a
  /// secret.
  public static var failureHandler: @Sendable (KeychainError) -> Void {
    get { handler.withLock { $0 }.body }
    set {
      // Released after the lock: it may be the last reference to an owner whose `deinit` comes here.
      let old = handler.withLock { handler in
        defer { handler = Handler(body: newValue) }
        return handler
      }
      withExtendedLifetime(old) {}
    }
  }

  /// A function alone in a mutex gets another thunk with each access.
  private struct Handler: Sendable { let body: @Sendable (KeychainError) -> Void }

  private static let handler = Mutex(
    Handler { error in FileHandle.standardError.write(Data("Keychain: \(error)\n".utf8)) })

  /// Returns the value, or passes a failure to the handler and returns the default.
  static func reporting<Value>(default: Value, _ body: () throws -> Value) -> Value {
    do {
      return try body()
    } catch {
      failureHandler(KeychainError(wrapping: error))
      return `default`
    }
  }
}

/// Lists of items in no particular order. They are not a snapshot: concurrent changes may be included or not.
extension Keychain {
  /// The keys of this keychain's items; empty after a failure, which goes to ``failureHandler``.
  public func allKeys() -> [String] { Self.reporting(default: []) { try keys() } }

  /// The keys of this keychain's items.
  public func keys() throws -> [String] {
    try store.items(options.checkedScope(), withSecrets: false, options.waits)
      .compactMap { $0.attributes[Options.Name.key] }
  }

  /// This keychain's items.
  public func items() throws -> [Attributes] {
    try store.items(options.checkedScope(), withSecrets: true, options.waits).map { Attributes($0) }
  }
}

/// The secret and the stored properties of one item.
///
/// The names are KeychainAccess's. Attributes set with ``Keychain/attributes(_:)`` are text under their name.
public struct Attributes: Sendable {
  /// The secret, copied out of the memory that is not paged out.
  public let data: Data?
  /// The service and the key, unless the keychain had a label.
  public let label: String?
  /// To the second.
  public let creationDate: Date?
  /// To the second.
  public let modificationDate: Date?

  private let stored: [String: String]

  init(_ item: StoredItem) {
    data = item.secret?.data
    label = item.label
    creationDate = item.created
    modificationDate = item.modified
    stored = item.attributes
  }

  /// The key.
  public var account: String? { stored[Options.Name.key] }
  public var service: String? { stored[Options.Name.service] }
  public var accessGroup: String? { stored[Options.Name.accessGroup].flatMap { $0.isEmpty ? nil : $0 } }
  public var server: String? { stored[Options.Name.server] }
  public var port: Int? { stored[Options.Name.port].flatMap { Int($0) } }
  public var comment: String? { stored[Options.Name.comment] }

  /// An attribute by its name in the service, as text.
  public subscript(key: String) -> String? { stored[key] }
}

/// Without the secret, however it is printed.
extension Attributes: CustomStringConvertible, CustomReflectable {
  public var description: String {
    let fields = stored.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    return "[label: \(label ?? ""), \(fields.joined(separator: ", ")), data: \(data?.count ?? 0) bytes]"
  }

  public var customMirror: Mirror {
    Mirror(self, children: ["label": label as Any, "attributes": stored], displayStyle: .struct)
  }
}
