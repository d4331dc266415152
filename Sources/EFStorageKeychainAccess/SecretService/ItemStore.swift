import Foundation
import Synchronization

/// The items of the Secret Service, found by their attributes, over one connection that is kept between operations.
///
/// Threads do not wait for each other: the lock guards a reference, and calls are made without it. Every operation
/// blocks its caller within the limits of its ``WaitOptions``.
final class ItemStore: Sendable {
  static let shared = ItemStore(address: SessionBus.address)

  private let address: @Sendable () throws(KeychainError) -> String
  private let current = Mutex<ServiceConnection?>(nil)

  /// - Parameter address: The address of the bus, evaluated at each operation; a change reconnects.
  init(address: @escaping @Sendable () throws(KeychainError) -> String) { self.address = address }

  // MARK: - Operations

  /// The secret of the item with these attributes, or `nil` if it is missing, or locked and to skip.
  func secret(_ attributes: [String: String], _ waits: WaitOptions) throws(KeychainError) -> Secret? {
    try perform(waits) { exchange in
      for _ in 0..<Self.attempts {
        guard let path = try self.find(attributes, exchange) else { return nil }
        if let secret = try exchange.secrets(of: [path])[path] { return secret }
        // Removed or locked by another process in between: look again.
      }
      throw KeychainError.unsettled
    }
  }

  /// The item with these attributes and its secret, or `nil` as for ``secret(_:_:)``.
  func item(_ attributes: [String: String], _ waits: WaitOptions) throws(KeychainError) -> StoredItem? {
    try perform(waits) { exchange in
      for _ in 0..<Self.attempts {
        guard let path = try self.find(attributes, exchange) else { return nil }
        guard let secret = try exchange.secrets(of: [path])[path] else { continue }
        guard var item = try self.unlessGone({ try exchange.item(path) }) else { continue }
        item.secret = secret
        return item
      }
      throw KeychainError.unsettled
    }
  }

  func contains(_ attributes: [String: String], _ waits: WaitOptions) throws(KeychainError) -> Bool {
    try perform(waits) { exchange in
      let (unlocked, locked) = try exchange.search(attributes)
      return !unlocked.isEmpty || !locked.isEmpty
    }
  }

  func items(
    _ attributes: [String: String], withSecrets: Bool, _ waits: WaitOptions
  ) throws(KeychainError) -> [StoredItem] {
    try perform(waits) { exchange in
      let paths = try self.findAll(attributes, exchange, skipping: waits.authenticationUI == .skip)
      exchange.renewDeadline()
      let secrets = withSecrets && !paths.isEmpty ? try exchange.secrets(of: paths) : [:]
      return try paths.compactMap { path in
        exchange.renewDeadline()
        guard var item = try self.unlessGone({ try exchange.item(path) }) else { return nil }
        item.secret = secrets[path]
        return item
      }
    }
  }

  /// Sets the secret of the item with the attributes `identity`, and creates it if needed.
  ///
  /// - Parameters:
  ///   - schema: `xdg:schema` of a new item.
  ///   - label: `nil` keeps the existing one.
  ///   - defaultLabel: For a new item without a label.
  ///   - additions: Attributes to add to the existing ones.
  func write(
    _ secret: Secret, identity: [String: String], schema: String, label: String?, defaultLabel: String,
    additions: [String: String], _ waits: WaitOptions
  ) throws(KeychainError) {
    try perform(waits) { exchange in
      for _ in 0..<Self.attempts {
        do {
          let path: String
          if let found = try self.find(identity, exchange, removingOthers: true) {
            path = found
            try exchange.setSecret(secret, of: path)
          } else {
            // With the identity alone, so that the service replaces an item created in the meantime.
            let attributes = identity.merging(["xdg:schema": schema]) { $1 }
            path = try exchange.create(label: label ?? defaultLabel, attributes: attributes, secret)
          }
          if label != nil || !additions.isEmpty {
            let item = try exchange.item(path)
            if let label, label != item.label { try exchange.setLabel(label, of: path) }
            let attributes = item.attributes.merging(additions) { $1 }
            if attributes != item.attributes { try exchange.setAttributes(attributes, of: path) }
          }
          return
        } catch let failure as CallFailure where failure.kind == .noObject {
          // Removed in the meantime, or the default collection is missing.
          if try !exchange.hasDefaultCollection() { try exchange.createDefaultCollection() }
        } catch let failure as CallFailure where failure.kind == .locked {
          // A locked item is unlocked when it is found again.
          if try exchange.search(identity) == ([], []) { try exchange.unlock([Exchange.defaultCollection]) }
        }
      }
      throw KeychainError.unsettled
    }
  }

  /// Creates an item with the attributes `identity` unless it exists, locked or not. Returns whether it was created.
  ///
  /// The service has no such method. So it creates the item, and removes it again if another one exists by then, of any
  /// process. If both remove theirs, both try again.
  func add(
    _ secret: Secret, identity: [String: String], schema: String, label: String, additions: [String: String],
    _ waits: WaitOptions
  ) throws(KeychainError) -> Bool {
    // Threads of one process take turns, for as long as a call may take.
    let limit = Deadline(after: waits.timeout).remainingMilliseconds ?? 0
    let hasTurn = Self.turn.wait(timeout: .now() + .milliseconds(Int(limit))) == .success
    defer { if hasTurn { Self.turn.signal() } }
    return try perform(waits) { exchange in
      for _ in 0..<Self.attempts {
        do {
          if try exchange.search(identity) != ([], []) { return false }
          let attributes = additions.merging(identity) { $1 }.merging(["xdg:schema": schema]) { $1 }
          let path = try exchange.create(label: label, attributes: attributes, secret, replacing: false)
          let (unlocked, locked) = try exchange.search(identity)
          if (unlocked + locked).allSatisfy({ $0 == path }) { return true }
          _ = try self.unlessGone { try exchange.delete(path) }
        } catch let failure as CallFailure where failure.kind == .noObject {
          if try !exchange.hasDefaultCollection() { try exchange.createDefaultCollection() }
        } catch let failure as CallFailure where failure.kind == .locked {
          try exchange.unlock([Exchange.defaultCollection])
        }
      }
      throw KeychainError.unsettled
    }
  }

  /// Removes every item with these attributes, and unlocks them if needed.
  func remove(_ attributes: [String: String], _ waits: WaitOptions) throws(KeychainError) {
    try perform(waits) { exchange in
      for path in try self.findAll(attributes, exchange, skipping: false) {
        exchange.renewDeadline()
        _ = try self.unlessGone { try exchange.delete(path) }
      }
    }
  }

  // MARK: - Finding

  private static let turn = DispatchSemaphore(value: 1)

  /// How often an operation retries if others change its items.
  private static let attempts = 8

  /// The unlocked item with these attributes; the newest of several, which writers of this package never leave.
  private func find(
    _ attributes: [String: String], _ exchange: Exchange, removingOthers: Bool = false
  ) throws -> String? {
    var (unlocked, locked) = try exchange.search(attributes)
    if unlocked.isEmpty, !locked.isEmpty {
      if exchange.waits.authenticationUI == .skip, !removingOthers { return nil }
      try exchange.unlock(locked)
      (unlocked, locked) = try exchange.search(attributes)
      if unlocked.isEmpty, !locked.isEmpty { throw KeychainError.stillLocked }
    }
    guard unlocked.count > 1 else { return unlocked.first }
    let items = try unlocked.compactMap { path in try unlessGone { try exchange.item(path) } }
    let newest = items.max { ($0.modified ?? .distantPast, $0.path) < ($1.modified ?? .distantPast, $1.path) }
    if removingOthers {
      for item in items where item.path != newest?.path { _ = try unlessGone { try exchange.delete(item.path) } }
    }
    return newest?.path
  }

  private func findAll(_ attributes: [String: String], _ exchange: Exchange, skipping: Bool) throws -> [String] {
    var (unlocked, locked) = try exchange.search(attributes)
    if locked.isEmpty || skipping { return unlocked }
    try exchange.unlock(locked)
    (unlocked, locked) = try exchange.search(attributes)
    // A part would look like the whole.
    guard locked.isEmpty else { throw KeychainError.stillLocked }
    return unlocked
  }

  private func unlessGone<Value>(_ body: () throws -> Value) throws -> Value? {
    do { return try body() } catch let failure as CallFailure where failure.kind == .noObject { return nil }
  }

  // MARK: - Connection

  /// Runs an operation on the kept connection; if that is dead, once more on a new one. Operations are idempotent.
  private func perform<Value>(_ waits: WaitOptions, _ body: (Exchange) throws -> Value) throws(KeychainError) -> Value {
    let deadline = Deadline(after: waits.timeout)
    func attempt(_ connection: ServiceConnection) throws -> Value {
      let exchange = Exchange(connection, waits, until: deadline)
      defer { if exchange.hasLeftPrompt { drop(connection) } }
      return try body(exchange)
    }
    let (connection, isNew) = try connect(until: deadline)
    do {
      do {
        return try attempt(connection)
      } catch let failure as CallFailure where failure.kind == .disconnected || failure.kind == .noSession {
        drop(connection)
        if isNew { throw failure }
      }
      return try attempt(connect(until: deadline).connection)
    } catch let failure as CallFailure {
      throw KeychainError(failure, within: waits.timeout)
    } catch {
      throw KeychainError(wrapping: error)
    }
  }

  /// The kept connection, or a new one. Of two concurrent attempts the first one is kept, so that neither waits.
  private func connect(until deadline: Deadline) throws(KeychainError) -> (connection: ServiceConnection, isNew: Bool) {
    let address = try self.address()
    if let kept = current.withLock({ $0 }), kept.address == address, kept.isUsable { return (kept, false) }
    let connection = try ServiceConnection(address: address, until: deadline)
    let (kept, dropped) = current.withLock { current -> (ServiceConnection, ServiceConnection?) in
      if let current, current.address == address, current.isUsable { return (current, connection) }
      defer { current = connection }
      return (connection, current)
    }
    // Closed here, after the lock.
    withExtendedLifetime(dropped) {}
    return (kept, true)
  }

  private func drop(_ connection: ServiceConnection) {
    let dropped = current.withLock { current -> ServiceConnection? in
      guard current === connection else { return nil }
      defer { current = nil }
      return current
    }
    withExtendedLifetime(dropped) {}
  }
}
