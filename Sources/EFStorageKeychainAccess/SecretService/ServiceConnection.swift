/// A connection to the session bus, and a session with the Secret Service on it. Closed with the last reference.
///
/// The service is addressed by its unique name, so that one which ends is noticed by the next call, and another one
/// is not taken for it.
// Sendable: never changed after init. GDBusConnection may be used by any thread, and of the proxy nothing is used but
// its session, which is never replaced, and its functions to encrypt and decrypt, which keep no state.
final class ServiceConnection: @unchecked Sendable {
  let address: String
  /// The service's unique name.
  let owner: String
  /// The session's path.
  let session: String
  private let bus: OpaquePointer
  private let service: OpaquePointer

  /// Connects to the bus, starts the service if the bus can, and opens a session.
  init(address: String, until deadline: Deadline) throws(KeychainError) {
    let bus: OpaquePointer
    do {
      bus = try Calls.connect(to: address, until: deadline)
    } catch {
      throw KeychainError(
        error.kind == .timedOut ? .timedOut : .serviceUnavailable,
        "The session bus at “\(address)” cannot be reached. Check DBUS_SESSION_BUS_ADDRESS, and that the bus runs.",
        underlying: error.text)
    }
    do {
      owner = try Self.findOwner(on: bus, until: deadline)
      service = try Calls.openService(bus, owner: owner, until: deadline)
    } catch {
      Calls.close(bus)
      throw KeychainError(
        error.kind == .timedOut ? .timedOut : .serviceUnavailable,
        error.kind == .timedOut
          ? "The Secret Service did not start, or did not answer, in time. See whether it hangs, or allow it more time."
          : "There is no Secret Service on the session bus. Start one, such as gnome-keyring-daemon --start "
            + "--components=secrets, KeePassXC or KWallet.",
        underlying: error.text)
    }
    guard let session = Calls.sessionPath(service) else {
      Calls.release(service)
      Calls.close(bus)
      throw KeychainError(.unexpected, "The Secret Service opened no session.")
    }
    self.session = session
    self.bus = bus
    self.address = address
  }

  deinit {
    Calls.release(service)
    Calls.close(bus)
  }

  /// Whether calls can go out: the bus has not ended.
  var isUsable: Bool { !Calls.isClosed(bus) }

  func call(
    _ path: String, _ interface: String, _ method: String, _ arguments: [Variant], reply: StaticString,
    until deadline: Deadline
  ) throws(CallFailure) -> Variant {
    try Calls.call(
      bus, to: owner, path: path, interface: interface, method: method, .tuple(arguments), reply: reply,
      until: deadline)
  }

  func prompt(
    _ path: String, shownBy limit: Deadline, until deadline: Deadline
  ) throws(CallFailure) -> Variant? {
    try Calls.prompt(bus, owner: owner, path: path, shownBy: limit, until: deadline)
  }

  func encode(_ secret: Secret) throws(CallFailure) -> Variant {
    defer { withExtendedLifetime(secret) {} }
    guard let variant = Calls.encode(secret.value, for: service) else {
      throw CallFailure(.other, message: "the secret could not be encrypted for the session")
    }
    return variant
  }

  func decode(_ variant: Variant) throws(CallFailure) -> Secret {
    guard let value = Calls.decode(variant, from: service) else {
      throw CallFailure(.other, message: "the secret that the service sent could not be decrypted")
    }
    return Secret(owning: value)
  }

  /// Fails at once where there is no service and none that the bus could start.
  private static func findOwner(on bus: OpaquePointer, until deadline: Deadline) throws(CallFailure) -> String {
    let name = Variant.string("org.freedesktop.secrets")
    func ask(_ method: String, _ arguments: [Variant], reply: StaticString) throws(CallFailure) -> Variant {
      try Calls.call(
        bus, to: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
        method: method, .tuple(arguments), reply: reply, until: deadline)
    }
    do {
      return try ask("GetNameOwner", [name], reply: "(s)")[0].text ?? ""
    } catch  where error.kind == .disconnected {
      _ = try ask("StartServiceByName", [name, .uint32(0)], reply: "(u)")
      return try ask("GetNameOwner", [name], reply: "(s)")[0].text ?? ""
    }
  }
}
