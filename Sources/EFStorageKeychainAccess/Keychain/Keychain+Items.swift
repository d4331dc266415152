public import Foundation

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
