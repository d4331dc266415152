import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

@Suite struct SessionBusTests {
  /// An autolaunched bus does not count, because starting it may block.
  @Test(
    arguments: [
      ("unix:path=/run/user/1000/bus", "unix:path=/run/user/1000/bus"),
      ("unix:path=/a;autolaunch:scope=x;tcp:host=localhost,port=1", "unix:path=/a;tcp:host=localhost,port=1"),
      ("autolaunch:;unix:path=/a", "unix:path=/a"), ("autolaunch:", nil), ("autolaunch:;", nil),
      ("autolaunch:;unixexec:path=/bin/sh", nil),
    ] as [(String, String?)])
  func variable(_ variable: String, _ address: String?) throws {
    func found() throws -> String { try SessionBus.address(variable: variable, runtimeDirectory: "/nowhere") }
    if let address {
      #expect(try found() == address)
    } else {
      expectFailure(.serviceUnavailable, within: .seconds(1)) { _ = try found() }
    }
  }

  @Test(arguments: [nil, ""]) func noVariable(_ variable: String?) throws {
    expectFailure(.serviceUnavailable, within: .seconds(1)) {
      _ = try SessionBus.address(variable: variable, runtimeDirectory: "/nowhere")
    }
    // A plain file is not enough.
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("bus test,\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try Data().write(to: directory.appendingPathComponent("bus"))
    expectFailure(.serviceUnavailable, within: .seconds(1)) {
      _ = try SessionBus.address(variable: variable, runtimeDirectory: directory.path)
    }
  }

  /// A process without bus variables starts nothing and waits for nothing. libsecret's file and portal backends are
  /// never used, even on request.
  @Test(
    arguments: [
      [:], ["DBUS_SESSION_BUS_ADDRESS": "autolaunch:"], ["DISPLAY": ":99"],
      ["SECRET_BACKEND": "file", "SECRET_FILE_TEST_PASSWORD": "x"],
    ] as [[String: String]])
  func processWithoutABus(_ variables: [String: String]) throws {
    let home = FileManager.default.temporaryDirectory.appendingPathComponent("home-\(UUID())")
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: home) }
    let folders = [
      "SECRET_FILE_TEST_PATH": home.path + "/test", "HOME": home.path, "XDG_DATA_HOME": home.path,
      "XDG_RUNTIME_DIR": "/nowhere", "PATH": "/usr/bin:/bin",
    ]
    let child = try ChildProcess.keychain(environment: variables.merging(folders) { $1 })
    for command in ["set s k v", "get s k"] {
      let words = try #require(child.run(command)).split(separator: " ")
      #expect(words.prefix(2) == ["error", "serviceUnavailable"])
      #expect(try #require(Int(words.last ?? "")) < 5000)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.path) == [])
  }
}
