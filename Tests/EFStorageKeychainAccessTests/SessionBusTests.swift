import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

@Suite struct SessionBusTests {
  @Test(arguments: [
    ("unix:path=/run/user/1000/bus", "unix:path=/run/user/1000/bus"),
    ("autolaunch:;unix:path=/a", "unix:path=/a"),
    ("unix:path=/a;autolaunch:scope=x;tcp:host=localhost,port=1", "unix:path=/a;tcp:host=localhost,port=1"),
  ])
  func variable(_ variable: String, _ address: String) throws {
    #expect(try SessionBus.address(variable: variable, runtimeDirectory: "/nowhere") == address)
  }

  /// An autolaunched bus does not count, because starting it may block.
  @Test(arguments: ["autolaunch:", "autolaunch:;", "autolaunch:;unixexec:path=/bin/sh"])
  func launching(_ variable: String) {
    expectFailure(.serviceUnavailable, within: .seconds(1)) {
      _ = try SessionBus.address(variable: variable, runtimeDirectory: nil)
    }
  }

  @Test(arguments: [nil, ""]) func noVariable(_ variable: String?) throws {
    expectFailure(.serviceUnavailable, within: .seconds(1)) {
      _ = try SessionBus.address(variable: variable, runtimeDirectory: "/nowhere")
    }
    // A plain file is not enough; a socket is.
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("bus test,\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try Data().write(to: directory.appendingPathComponent("bus"))
    expectFailure(.serviceUnavailable, within: .seconds(1)) {
      _ = try SessionBus.address(variable: variable, runtimeDirectory: directory.path)
    }
    // The address escapes the path.
    let session = try KeyringSession()
    try FileManager.default.removeItem(at: directory.appendingPathComponent("bus"))
    try FileManager.default.linkItem(
      atPath: session.directory + "/run/bus", toPath: directory.appendingPathComponent("bus").path)
    let address = try SessionBus.address(variable: variable, runtimeDirectory: directory.path)
    #expect(address.contains("bus%20test%2c"))
    var options = Options()
    options.service = "test"
    let keychain = Keychain(options, store: ItemStore { () throws(KeychainError) in address })
    #expect(try keychain.get("k") == nil)
  }

  /// A process without bus variables starts nothing and waits for nothing.
  @Test func processWithoutABus() throws {
    for environment in [[:], ["DBUS_SESSION_BUS_ADDRESS": "autolaunch:"], ["DISPLAY": ":99"]] {
      let child = try ChildProcess.keychain(
        environment: environment.merging(["XDG_RUNTIME_DIR": "/nowhere", "PATH": "/usr/bin:/bin"]) { $1 })
      for command in ["set s k v", "get s k"] {
        let words = try #require(child.run(command)).split(separator: " ")
        #expect(words.prefix(2) == ["error", "serviceUnavailable"])
        #expect(try #require(Int(words.last ?? "")) < 5000)
      }
    }
  }

  /// libsecret's file and portal backends are never used, even on request.
  @Test func noFileBackend() throws {
    let home = FileManager.default.temporaryDirectory.appendingPathComponent("home-\(UUID())")
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: home) }
    let child = try ChildProcess.keychain(environment: [
      "SECRET_BACKEND": "file", "SECRET_FILE_TEST_PATH": home.path + "/test", "SECRET_FILE_TEST_PASSWORD": "x",
      "HOME": home.path, "XDG_DATA_HOME": home.path, "XDG_RUNTIME_DIR": "/nowhere", "PATH": "/usr/bin:/bin",
    ])
    #expect(child.run("set s k v")?.hasPrefix("error serviceUnavailable") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path) == [])
  }
}
