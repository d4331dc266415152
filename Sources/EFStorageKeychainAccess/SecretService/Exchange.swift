import Dispatch

/// The service's methods for one operation, with its connection and remaining time. Used by one thread.
final class Exchange {
  let waits: WaitOptions
  /// Whether the service holds an abandoned prompt. It holds prompts until the connection ends.
  private(set) var hasLeftPrompt = false
  private let connection: ServiceConnection
  private var deadline: Deadline

  init(_ connection: ServiceConnection, _ waits: WaitOptions, until deadline: Deadline) {
    self.connection = connection
    self.waits = waits
    self.deadline = deadline
  }

  /// Restarts the time limit, for the next of many items.
  func renewDeadline() { deadline = Deadline(after: waits.timeout) }

  // MARK: - Service

  /// The paths of items with at least these attributes, in all collections.
  func search(_ attributes: [String: String]) throws(CallFailure) -> (unlocked: [String], locked: [String]) {
    let reply = try call(Self.service, "Service", "SearchItems", [.strings(attributes)], reply: "(aoao)")
    return (reply[0].paths, reply[1].paths)
  }

  /// The secrets of the items, by path, except locked and missing ones.
  func secrets(of paths: [String]) throws(CallFailure) -> [String: Secret] {
    let reply = try call(
      Self.service, "Service", "GetSecrets", [.paths(paths), .path(connection.session)], reply: "(a{o(oayays)})")
    var secrets: [String: Secret] = [:]
    for (path, secret) in reply[0].properties { secrets[path] = try connection.decode(secret) }
    return secrets
  }

  func unlock(_ paths: [String]) throws {
    let reply = try call(Self.service, "Service", "Unlock", [.paths(paths)], reply: "(aoo)")
    let prompt = reply[1].text ?? Self.none
    if prompt != Self.none {
      _ = try interact(prompt, "The keyring is locked")
    } else if !Set(paths).isSubset(of: reply[0].paths) {
      throw KeychainError(
        .locked, "The keyring is locked, and the service does not unlock it. Unlock it with the service's own program.")
    }
  }

  /// Whether the collection for new items exists.
  func hasDefaultCollection() throws(CallFailure) -> Bool {
    try call(Self.service, "Service", "ReadAlias", [.string("default")], reply: "(o)")[0].text != Self.none
  }

  /// Creates that collection; the service asks for a password.
  func createDefaultCollection() throws {
    let label = ["org.freedesktop.Secret.Collection.Label": Variant.string("Default keyring")]
    let reply = try call(
      Self.service, "Service", "CreateCollection", [.properties(label), .string("default")], reply: "(oo)")
    let prompt = reply[1].text ?? Self.none
    if prompt != Self.none { _ = try interact(prompt, "There is no keyring yet", code: .noKeyring) }
  }

  // MARK: - Collection

  static let defaultCollection = "/org/freedesktop/secrets/aliases/default"

  /// Creates an item in the default collection, and returns its path. `replacing` replaces one with the same
  /// attributes.
  func create(label: String, attributes: [String: String], _ secret: Secret, replacing: Bool = true) throws -> String {
    let properties: [String: Variant] = [
      "org.freedesktop.Secret.Item.Label": .string(label),
      "org.freedesktop.Secret.Item.Attributes": .strings(attributes),
    ]
    let reply = try call(
      Self.defaultCollection, "Collection", "CreateItem",
      [.properties(properties), connection.encode(secret), .boolean(replacing)], reply: "(oo)")
    let prompt = reply[1].text ?? Self.none
    if prompt != Self.none { return try interact(prompt, "The keyring is locked").text ?? Self.none }
    return reply[0].text ?? Self.none
  }

  // MARK: - Item

  func item(_ path: String) throws(CallFailure) -> StoredItem {
    let reply = try connection.call(
      path, Self.properties, "GetAll", [.string(Self.item)], reply: "(a{sv})", until: deadline)
    return StoredItem(path: path, properties: reply[0].properties)
  }

  func setSecret(_ secret: Secret, of path: String) throws(CallFailure) {
    _ = try call(path, "Item", "SetSecret", [connection.encode(secret)], reply: "()")
  }

  func setLabel(_ label: String, of path: String) throws(CallFailure) { try set("Label", .string(label), of: path) }

  func setAttributes(_ attributes: [String: String], of path: String) throws(CallFailure) {
    try set("Attributes", .strings(attributes), of: path)
  }

  func delete(_ path: String) throws {
    let reply = try exclusively { () throws(CallFailure) in
      try call(path, "Item", "Delete", [], reply: "(o)")
    }
    let prompt = reply[0].text ?? Self.none
    if prompt != Self.none { _ = try interact(prompt, "The service asks before it deletes an item") }
  }

  // MARK: -

  private static let service = "/org/freedesktop/secrets"
  private static let item = "org.freedesktop.Secret.Item"
  private static let properties = "org.freedesktop.DBus.Properties"
  private static let none = "/"

  private func call(
    _ path: String, _ interface: String, _ method: String, _ arguments: [Variant], reply: StaticString
  ) throws(CallFailure) -> Variant {
    try connection.call(
      path, "org.freedesktop.Secret." + interface, method, arguments, reply: reply, until: deadline)
  }

  private func set(_ name: String, _ value: Variant, of path: String) throws(CallFailure) {
    _ = try exclusively { () throws(CallFailure) in
      try connection.call(
        path, Self.properties, "Set", [.string(Self.item), .string(name), .boxed(value)], reply: "()", until: deadline)
    }
  }

  /// Serializes these calls in the process.
  ///
  /// GNOME Keyring 42 crashes if an item is deleted while a property of it is being set. Other processes may still
  /// cause that.
  private func exclusively<Value>(_ call: () throws(CallFailure) -> Value) throws(CallFailure) -> Value {
    guard Self.gate.wait(timeout: .now() + .milliseconds(Int(deadline.remainingMilliseconds ?? 0))) == .success else {
      throw .timedOut
    }
    defer { Self.gate.signal() }
    return try call()
  }

  private static let gate = DispatchSemaphore(value: 1)

  /// Lets the service ask a person, for as long as the interaction may take, without counting that time.
  private func interact(_ prompt: String, _ reason: String, code: KeychainError.Code = .locked) throws -> Variant {
    guard waits.mayPrompt else {
      hasLeftPrompt = true
      throw KeychainError(
        code,
        "\(reason), and prompts are not allowed. Unlock the keyring first, or allow prompts with "
          + "authenticationUI(.allow).")
    }
    let start = ContinuousClock.now
    let result: Variant?
    do {
      result = try connection.prompt(prompt, shownBy: deadline, until: Deadline(after: waits.interactionTimeout))
    } catch {
      guard error.kind == .timedOut, ContinuousClock.now - start >= waits.interactionTimeout else { throw error }
      hasLeftPrompt = true
      throw KeychainError(
        code,
        "\(reason), and nobody answered the prompt within \(waits.interactionTimeout). Unlock the keyring "
          + "first, or allow more time with interactionTimeout(_:).")
    }
    deadline.postpone(by: ContinuousClock.now - start)
    guard let result else {
      throw KeychainError(
        .promptDismissed,
        "\(reason), and the prompt was dismissed, or could not be shown. Unlock the keyring first; "
          + "without a display, the service's own program does it.")
    }
    return result
  }
}

struct CallFailure: Error {
  enum Kind {
    /// No answer before the deadline.
    case timedOut
    /// The bus or the service is missing or has ended.
    case disconnected
    /// The item, collection or prompt does not exist.
    case noObject
    /// The item or the collection is locked.
    case locked
    /// The service does not know the session.
    case noSession
    /// The bus refuses to pass the message.
    case denied
    case other
  }

  var kind: Kind
  /// The error's name on the bus, or its domain and code.
  var name: String
  var message: String

  init(_ kind: Kind, name: String = "", message: String) {
    self.kind = kind
    self.name = name
    self.message = message
  }

  init(remote name: String, message: String) {
    let kind: Kind =
      switch name {
      case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
        "org.freedesktop.DBus.Error.Disconnected":
        .disconnected
      // The bus says this when the called process has ended.
      case "org.freedesktop.DBus.Error.NoReply": .disconnected
      // Services differ here.
      case "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownObject",
        "org.freedesktop.DBus.Error.UnknownMethod":
        .noObject
      case "org.freedesktop.Secret.Error.IsLocked": .locked
      case "org.freedesktop.Secret.Error.NoSession": .noSession
      case "org.freedesktop.DBus.Error.AccessDenied": .denied
      case "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut": .timedOut
      default: .other
      }
    self.init(kind, name: name, message: message)
  }

  static let timedOut = CallFailure(.timedOut, message: "no answer in time")

  var text: String {
    switch (name.isEmpty, message.isEmpty) {
    case (true, _): message
    case (_, true): name
    default: "\(name): \(message)"
    }
  }
}

struct Deadline: Sendable {
  private(set) var instant: ContinuousClock.Instant

  /// `duration` from now, clamped from zero to a day.
  init(after duration: Duration) { instant = ContinuousClock.now + min(max(duration, .zero), .seconds(86_400)) }

  /// The remaining time, rounded up to whole milliseconds, at least 1; `nil` if it has passed.
  var remainingMilliseconds: Int32? {
    let remaining = instant - .now
    guard remaining > .zero else { return nil }
    let (seconds, attoseconds) = remaining.components
    return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Adds the time spent waiting for a person.
  mutating func postpone(by duration: Duration) { instant += duration }
}

struct WaitOptions: Sendable, Equatable {
  var timeout: Duration = .seconds(5)
  var interactionTimeout: Duration = .seconds(60)
  var authenticationUI: AuthenticationUI = .allow

  var mayPrompt: Bool { authenticationUI == .allow && interactionTimeout > .zero }
}

/// The behavior for a locked keyring.
public enum AuthenticationUI: Sendable, Hashable, CaseIterable {
  /// The service may prompt for the password, within ``Keychain/interactionTimeout(_:)``.
  case allow
  /// No prompt: the call throws ``KeychainError/Code/locked``.
  case fail
  /// No prompt: reads treat locked items as absent; writes and removals throw, as with ``fail``.
  case skip
}
