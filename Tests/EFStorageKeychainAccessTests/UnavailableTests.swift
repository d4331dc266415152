import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

/// Without a service every call fails soon, and nothing is stored elsewhere.
@Suite struct UnavailableTests {
  /// Generous for loaded machines; a call takes some milliseconds.
  static let soon = Duration.seconds(20)

  private func keychain(_ address: String) -> Keychain {
    var options = Options()
    options.service = "test-\(UUID())"
    return Keychain(options, store: ItemStore { () throws(KeychainError) in address })
  }

  private func expectUnavailable(_ keychain: Keychain) {
    for call in keychain.everyCall + [{ _ = try keychain.contains("k") }] {
      let (error, _) = expectFailure(.serviceUnavailable, within: Self.soon, call)
      if let error {
        #expect(!"\(error)".contains("never to be seen"))
        #expect(error.message.contains("."), "a remedy")
      }
    }
  }

  @Test(arguments: [
    "unix:path=/nowhere/bus", "unix:abstract=nobody-listens-here-\(UUID())", "tcp:host=127.0.0.1,port=1",
    "no address", "", "unix:", "unix:path=/dev/null",
  ])
  func addressThatPointsNowhere(_ address: String) {
    expectUnavailable(keychain(address))
  }

  @Test(arguments: [nil, "/nowhere/keyring", "/bin/false"])
  func serviceThatCannotStart(_ command: String?) throws {
    let services = command.map { ["org.freedesktop.secrets": $0] } ?? [:]
    let session = try KeyringSession(keyring: false, services: services)
    expectUnavailable(session.keychain())
  }

  private func expectTimeout(_ keychain: Keychain) {
    let (_, time) = expectFailure(.timedOut, within: Self.soon) {
      try keychain.timeout(.milliseconds(300)).set("x", key: "k")
    }
    #expect(time > .milliseconds(250))
  }

  /// A program that never takes the name, or has exited with 0: the bus assumes that it left a daemon.
  @Test(arguments: ["/bin/sleep 30", "/bin/true"]) func serviceThatStartsForever(_ command: String) throws {
    let session = try KeyringSession(keyring: false, services: ["org.freedesktop.secrets": command])
    expectTimeout(session.keychain())
  }

  @Test func serviceThatHangs() throws {
    let session = try KeyringSession()
    let process = try #require(session.keyring)
    let keychain = session.keychain()
    try keychain.set("before", key: "k")
    kill(process, SIGSTOP)
    // Both on an existing connection and on a new one.
    expectTimeout(keychain)
    expectTimeout(Keychain(keychain.options, store: ItemStore { () throws(KeychainError) in session.address }))
    for timeout in [Duration.zero, .seconds(-1)] {
      expectFailure(.timedOut, within: Self.soon) { _ = try keychain.timeout(timeout).get("k") }
    }
    kill(process, SIGCONT)
    #expect(try keychain.contains("k") && keychain.timeout(.seconds(Int64.max)).contains("k"))
  }

  /// The old connection is dropped, and the next call finds the new service.
  @Test func serviceThatEndsAndComesBack() throws {
    let session = try KeyringSession()
    let process = try #require(session.keyring)
    let keychain = session.keychain()
    try keychain.set("before", key: "k")
    // It ends during a call.
    kill(process, SIGSTOP)
    let ender = Thread {
      usleep(200_000)
      kill(process, SIGKILL)
    }
    ender.start()
    expectFailure(.serviceUnavailable, within: Self.soon) { _ = try keychain.get("k") }
    expectUnavailable(keychain)
    let keyring = try session.startKeyring()
    #expect(try keychain.get("k") == "before")
    keyring.end()
    expectFailure(.serviceUnavailable, within: Self.soon) { _ = try keychain.get("k") }
    // A restart between two calls goes unnoticed.
    let first = try session.startKeyring()
    try keychain.set("again", key: "k")
    first.end()
    let second = try session.startKeyring()
    #expect(try keychain.get("k") == "again")
    second.end()
  }

  /// Each call asks for the address. The process outlives the bus, unlike with GIO's shared connection.
  @Test func busThatMovesAndEnds() throws {
    let session = try KeyringSession.shared.get()
    var ending: KeyringSession? = try KeyringSession()
    let address = try #require(ending).address
    let current = Guarded(address)
    let keychain = Keychain(
      session.keychain().options, store: ItemStore { () throws(KeychainError) in current.current })
    try keychain.set("first", key: "k")
    current { $0 = session.address }
    #expect(try keychain.get("k") == nil)
    current { $0 = address }
    #expect(try keychain.get("k") == "first")
    ending = nil
    expectUnavailable(keychain)
  }

  /// Subscripts and listings report errors to the handler, and return nothing.
  @Test func failuresThatAreNotThrown() throws {
    let keychain = keychain("unix:path=/nowhere/bus")
    let original = Keychain.failureHandler
    defer { Keychain.failureHandler = original }
    let errors = Guarded<[KeychainError]>([])
    Keychain.failureHandler = { error in errors { $0.append(error) } }
    #expect(keychain["k"] == nil && keychain[data: "k"] == nil)
    keychain["k"] = "top secret"
    keychain["k"] = nil
    keychain[data: "k"] = Data("top secret".utf8)
    keychain[data: "k"] = nil
    #expect(keychain.allKeys() == [])
    #expect(errors.current.map(\.code) == Array(repeating: .serviceUnavailable, count: 7))
    #expect(!errors.current.contains { "\($0)".contains("top secret") })
  }

  // MARK: The address of the bus

  /// An autolaunched bus does not count, because starting it may block.
  @Test(
    arguments: [
      ("unix:path=/run/user/1000/bus", "unix:path=/run/user/1000/bus"),
      ("unix:path=/a;autolaunch:scope=x;tcp:host=localhost,port=1", "unix:path=/a;tcp:host=localhost,port=1"),
      ("autolaunch:;unix:path=/a", "unix:path=/a"), ("autolaunch:", nil), ("autolaunch:;", nil),
      ("autolaunch:;unixexec:path=/bin/sh", nil), ("", nil), (nil, nil),
    ] as [(String?, String?)])
  func variable(_ variable: String?, _ address: String?) throws {
    func found() throws -> String { try SessionBus.address(variable: variable, runtimeDirectory: "/nowhere") }
    if let address {
      #expect(try found() == address)
    } else {
      expectFailure(.serviceUnavailable, within: .seconds(60)) { _ = try found() }
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
