import Foundation
import TestSupport

extension ChildProcess {
  /// Tests/KeychainTestProcess, connected to the bus at `address`.
  static func keychain(bus address: String) throws -> ChildProcess {
    var environment = ProcessInfo.processInfo.environment
    environment["DBUS_SESSION_BUS_ADDRESS"] = address
    return try keychain(environment: environment)
  }

  /// Tests/KeychainTestProcess with only this environment.
  static func keychain(environment: [String: String]) throws -> ChildProcess {
    try ChildProcess("KeychainTestProcess", environment: environment, ending: .endOfInput)
  }
}
