import Foundation
import Synchronization

/// A connection to the session bus with a Secret Service session. Closed with the last reference.
///
/// It uses the service's unique name, so the next call notices if the service has ended or was replaced.
/// Any thread may use GDBusConnection, and of the proxy only the session, which is never replaced, and the stateless
/// functions to encrypt and decrypt are used.
final class ServiceConnection: Sendable {
  let address: String
  let owner: String
  let session: String
  private let service: GObjectReference
  private let bus: BusConnection

  /// Connects to the bus, starts the service if possible, and opens a session.
  init(address: String, until deadline: Deadline) throws(KeychainError) {
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
      throw KeychainError(
        error.kind == .timedOut ? .timedOut : .serviceUnavailable,
        error.kind == .timedOut
          ? "The Secret Service did not start, or did not answer, in time. See whether it hangs, or allow it more time."
          : "There is no Secret Service on the session bus. Start one, such as gnome-keyring-daemon --start "
            + "--components=secrets, KeePassXC or KWallet.",
        underlying: error.text)
    }
    guard let session = Calls.sessionPath(service) else {
      throw KeychainError(.unexpected, "The Secret Service opened no session.")
    }
    self.session = session
    self.address = address
  }

  var isUsable: Bool { !Calls.isClosed(bus) }

  func call(
    _ path: String, _ interface: String, _ method: String, _ arguments: [Variant], reply: StaticString,
    until deadline: Deadline
  ) throws(CallFailure) -> Variant {
    try Calls.call(
      bus, to: owner, path: path, interface: interface, method: method, .tuple(arguments), reply: reply,
      until: deadline)
  }

  func prompt(_ path: String, shownBy limit: Deadline, until deadline: Deadline) throws(CallFailure) -> Variant? {
    try Calls.prompt(bus, owner: owner, path: path, shownBy: limit, until: deadline)
  }

  func encode(_ secret: Secret) throws(CallFailure) -> Variant {
    guard let variant = Calls.encode(secret, for: service) else {
      throw CallFailure(.other, message: "the secret could not be encrypted for the session")
    }
    return variant
  }

  func decode(_ variant: Variant) throws(CallFailure) -> Secret {
    guard let secret = Calls.decode(variant, from: service) else {
      throw CallFailure(.other, message: "the secret that the service sent could not be decrypted")
    }
    return secret
  }

  /// Fails at once if the service is missing and the bus cannot start one.
  private static func findOwner(on bus: BusConnection, until deadline: Deadline) throws(CallFailure) -> String {
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

/// The address of the session bus, found without starting anything.
enum SessionBus {
  /// The address in `DBUS_SESSION_BUS_ADDRESS`, else the user's bus in the runtime directory.
  ///
  /// Never one that makes the library start a bus, which would have no keyring, or one that ends with the program.
  @Sendable static func address() throws(KeychainError) -> String {
    if let replacement = replacement.withLock({ $0 }) { return replacement }
    return try address(
      variable: Calls.environmentVariable("DBUS_SESSION_BUS_ADDRESS"),
      runtimeDirectory: Calls.environmentVariable("XDG_RUNTIME_DIR"))
  }

  /// For tests: replaces the environment's address, which cannot be changed safely with several threads.
  static let replacement = Mutex<String?>(nil)

  static func address(variable: String?, runtimeDirectory: String?) throws(KeychainError) -> String {
    if let variable, !variable.isEmpty {
      let usable = variable.split(separator: ";").filter { !$0.hasPrefix("autolaunch:") && !$0.hasPrefix("unixexec:") }
      guard !usable.isEmpty else {
        throw KeychainError(
          .serviceUnavailable,
          "DBUS_SESSION_BUS_ADDRESS is “\(variable)”, which would start a session bus. Run the program in a login "
            + "session, or under dbus-run-session with a keyring service.")
      }
      return usable.joined(separator: ";")
    }
    let directory = runtimeDirectory.flatMap { $0.isEmpty ? nil : $0 } ?? "/run/user/\(geteuid())"
    let path = directory + "/bus"
    guard isOwnSocket(path) else {
      throw KeychainError(
        .serviceUnavailable,
        "There is no session bus: DBUS_SESSION_BUS_ADDRESS is not set, and \(path) is no socket of this user. Run the "
          + "program in a login session, or under dbus-run-session with a keyring service.")
    }
    return "unix:path=" + escaped(path)
  }

  private static func isOwnSocket(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK && status.st_uid == geteuid()
  }

  /// Escapes a value of an address as in the D-Bus specification.
  private static func escaped(_ path: String) -> String {
    let plain = Set("-_/.\\*0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    return path.utf8.map { byte in
      if plain.contains(byte) { return String(UnicodeScalar(byte)) }
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
    }.joined()
  }
}
