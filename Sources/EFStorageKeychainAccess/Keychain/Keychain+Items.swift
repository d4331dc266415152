public import Foundation

/// One item at a time. The parameter `ignoringAttributeSynchronizable` is there for KeychainAccess's clients, and is
/// **without effect on Linux**, where an item is not told from another by it.
///
/// Each throws a ``KeychainError`` and nothing else, but for what a handler throws:
/// ``KeychainError/Code/invalidKey`` for a key with a NUL character, and what the service's being absent, slow, locked
/// or unwilling amounts to: see ``KeychainError/Code``. The functions are declared with a plain `throws`, as in
/// KeychainAccess: `catch let error as KeychainError` in a function that throws makes the compiler of Swift 6.3 crash
/// where the thrown type is stated.
extension Keychain {
  /// The item's text, or `nil` if there is no item. The same as ``getString(_:ignoringAttributeSynchronizable:)``.
  public func get(
    _ key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws -> String? {
    try getString(key, ignoringAttributeSynchronizable: ignoringAttributeSynchronizable)
  }

  /// The item's text, or `nil` if there is no item. Throws ``KeychainError/Code/conversion`` if its data is not UTF-8.
  public func getString(
    _ key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws -> String? {
    guard let secret = try store.secret(options.identity(key), options.waits) else { return nil }
    guard let text = secret.withUnsafeBytes({ String(validating: $0, as: UTF8.self) }) else {
      throw KeychainError(.conversion, "The item is not text in UTF-8. Read it with getData(_:).")
    }
    return text
  }

  /// The item's data, of text its UTF-8, or `nil` if there is no item.
  public func getData(
    _ key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws -> Data? {
    try store.secret(options.identity(key), options.waits)?.withUnsafeBytes { Data($0) }
  }

  /// Calls `handler` with the item's data and attributes, or with nil if there is no item, and returns what it
  /// returns.
  public func get<T>(
    _ key: String, ignoringAttributeSynchronizable: Bool = true, handler: (Attributes?) throws -> T
  ) throws -> T {
    let item = try store.item(options.identity(key), options.waits)
    return try handler(item.map { Attributes($0, itemClass: itemClass) })
  }

  /// Sets the item to a text, which may hold any character, NUL too.
  public func set(
    _ value: String, key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws {
    var value = value
    try write(value.withUTF8 { Secret(item: UnsafeRawBufferPointer($0), contentType: .text) }, key)
  }

  /// Sets the item to data of any length that a message of the bus can carry, which is some hundred megabytes.
  public func set(
    _ value: Data, key: String, ignoringAttributeSynchronizable: Bool = true
  ) throws {
    try write(value.withUnsafeBytes { Secret(item: $0, contentType: .data) }, key)
  }

  /// Removes the item, if there is one.
  public func remove(_ key: String, ignoringAttributeSynchronizable: Bool = true) throws {
    try store.remove(options.identity(key), options.waits)
  }

  /// Removes every item of this keychain: not those of other services, servers or access groups. One after the
  /// other, not all or nothing.
  public func removeAll() throws {
    try store.remove(options.checkedScope(), options.waits)
  }

  /// Whether there is an item. True for a locked one too, so it never prompts.
  ///
  /// - Parameter withoutAuthenticationUI: There for KeychainAccess's clients; makes no difference.
  public func contains(_ key: String, withoutAuthenticationUI: Bool = false) throws -> Bool {
    try store.contains(options.identity(key), options.waits)
  }

  /// Sets the item unless there is one, locked or not, also by another process. Returns whether it was set.
  func add(_ value: String, key: String) throws -> Bool {
    var value = value
    return try add(value.withUTF8 { Secret(item: UnsafeRawBufferPointer($0), contentType: .text) }, key)
  }

  /// The same for data.
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
