import Foundation
import Synchronization
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

/// A session bus with a keyring, ended with the last reference. `Scripts/lib/with-keyring` starts it around the tests
/// or as a child of this process.
final class KeyringSession: Sendable {
  /// The shared session. Tests use different service names, and never lock or end it. Keychains from public
  /// initializers use it too.
  static let shared = Result {
    guard let address = ProcessInfo.processInfo.environment["DBUS_SESSION_BUS_ADDRESS"],
      let directory = ProcessInfo.processInfo.environment["WITH_KEYRING_DIRECTORY"]
    else {
      let session = try KeyringSession()
      SessionBus.replacement.withLock { $0 = session.address }
      return session
    }
    return KeyringSession(address: address, directory: directory)
  }

  let address: String
  let directory: String
  let keyring: pid_t?
  let store: ItemStore
  private let script: ChildProcess?
  private let services: URL?

  private init(address: String, directory: String) {
    (self.address, self.directory, keyring, script, services) = (address, directory, nil, nil, nil)
    store = ItemStore { () throws(KeychainError) in address }
  }

  /// - Parameters:
  ///   - password: Without one the service keeps the keyring in a text file.
  ///   - services: The names that the bus can start, with their command lines.
  init(keyring: Bool = true, password: Bool = true, services: [String: String] = [:]) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("services-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, command) in services {
      try Data("[D-BUS Service]\nName=\(name)\nExec=\(command)\n".utf8)
        .write(to: folder.appendingPathComponent(name + ".service"))
    }
    let arguments: [String] =
      (keyring ? [] : ["--no-keyring"]) + (password ? [] : ["--no-password"])
      + (services.isEmpty ? [] : ["--services", folder.path])
    let path = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../Scripts/lib/with-keyring")
      .standardized
    let say = "echo $DBUS_SESSION_BUS_ADDRESS; echo $WITH_KEYRING_DIRECTORY; echo $WITH_KEYRING_PROCESS; exec cat"
    let script = try ChildProcess(path, arguments + ["sh", "-c", say], ending: .endOfInput)
    guard let address = script.readLine(), let directory = script.readLine(), let process = script.readLine() else {
      throw NotStarted()
    }
    self.address = address
    self.directory = directory
    self.keyring = pid_t(process)
    self.script = script
    self.services = folder
    store = ItemStore { () throws(KeychainError) in address }
  }

  deinit {
    guard let services else { return }
    try? FileManager.default.removeItem(at: services)
  }

  struct NotStarted: Error, CustomStringConvertible {
    var description: String {
      "No keyring could be started; what hinders it is on standard error. The tests need Debian's packages dbus and "
        + "gnome-keyring. Scripts/lib/with-keyring swift test shows it alone."
    }
  }

  /// A keychain of this session's keyring; by default, its service name is unique.
  func keychain(service: String = "test-\(UUID())", accessGroup: String? = nil) -> Keychain {
    var options = Options()
    options.service = service
    options.accessGroup = accessGroup
    // Prompts that are never answered fail soon enough, and a loaded machine has time.
    options.waits = WaitOptions(timeout: .seconds(20), interactionTimeout: .seconds(20))
    return Keychain(options, store: store)
  }

  // MARK: - What a person, or the system, does

  static let login = "/org/freedesktop/secrets/collection/login"

  func lock() throws {
    let connection = try ServiceConnection(address: address, until: Deadline(after: .seconds(20)))
    _ = try connection.call(
      "/org/freedesktop/secrets", "org.freedesktop.Secret.Service", "Lock", [.paths([Self.login])], reply: "(aoo)",
      until: Deadline(after: .seconds(20)))
  }

  /// Unlocks with the password from the file, instead of a prompt.
  func unlock() throws {
    let connection = try ServiceConnection(address: address, until: Deadline(after: .seconds(20)))
    let password = try Data(contentsOf: URL(fileURLWithPath: directory + "/password"))
    let secret = password.withUnsafeBytes { Secret(copying: $0, contentType: .text) }
    _ = try connection.call(
      "/org/freedesktop/secrets", "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface",
      "UnlockWithMasterPassword", [.path(Self.login), connection.encode(secret)], reply: "()",
      until: Deadline(after: .seconds(20)))
  }

  /// Starts a new keyring after the old one has ended.
  func startKeyring(unlocked: Bool = true) throws -> ChildProcess {
    let copy = directory + "/gnome-keyring-daemon"
    let executable = FileManager.default.isExecutableFile(atPath: copy) ? copy : "gnome-keyring-daemon"
    var environment = ProcessInfo.processInfo.environment
    environment["HOME"] = directory + "/home"
    for (name, path) in [("DATA", ".local/share"), ("CONFIG", ".config"), ("CACHE", ".cache")] {
      environment["XDG_\(name)_HOME"] = directory + "/home/" + path
    }
    environment["XDG_RUNTIME_DIR"] = directory + "/run"
    environment["DBUS_SESSION_BUS_ADDRESS"] = address
    // The shell ends the keyring when its input ends.
    let command = """
      "$0" --foreground $2 --components=secrets --control-directory="$1/run/keyring" <"$1/password" &
      while read -r line; do echo "$line"; done; { kill -KILL $!; wait $!; } 2>/dev/null
      """
    let child = try ChildProcess(
      URL(fileURLWithPath: "/bin/sh"), ["-c", command, executable, directory, unlocked ? "--unlock" : ""],
      environment: environment, ending: .endOfInput)
    // It prints the first line before it takes its name.
    guard child.readLine() != nil else { throw NotStarted() }
    for _ in 0..<500 {
      do {
        _ = try ServiceConnection(address: address, until: Deadline(after: .seconds(20)))
        return child
      } catch { usleep(20_000) }
    }
    throw NotStarted()
  }
}
