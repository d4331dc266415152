import Foundation
import TestSupport

extension ChildProcess {
  /// Tests/KeychainTestProcess, which knows the bus at `address`.
  static func keychain(bus address: String) throws -> ChildProcess {
    var environment = ProcessInfo.processInfo.environment
    environment["DBUS_SESSION_BUS_ADDRESS"] = address
    return try keychain(environment: environment)
  }

  /// The same with this environment alone.
  static func keychain(environment: [String: String]) throws -> ChildProcess {
    try ChildProcess("KeychainTestProcess", environment: environment, ending: .endOfInput)
  }
}
