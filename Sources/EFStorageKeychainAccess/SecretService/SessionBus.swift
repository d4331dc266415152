import Foundation
import Synchronization

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
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK && status.st_uid == geteuid()
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
