import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

@Suite struct ProcessTests {
  let session: KeyringSession
  let keychain: Keychain

  init() throws {
    session = try KeyringSession.shared.get()
    keychain = session.keychain()
  }

  @Test func anotherProcess() throws {
    let child = try ChildProcess.keychain(bus: session.address)
    let service = keychain.service
    try keychain.set("от нас", key: "k")
    #expect(child.run("get \(service) k") == "от нас")
    #expect(child.run("set \(service) k theirs") == "ok" && child.run("all \(service)") == "k")
    #expect(try keychain.get("k") == "theirs")
    #expect(child.run("remove \(service) k") == "ok" && child.run("get \(service) k") == "nil")
    #expect(try keychain.get("k") == nil)
    // A keychain without a service uses the program's name.
    #expect(child.run("default own value") == "KeychainTestProcess")
    let own = session.keychain(service: "KeychainTestProcess")
    #expect(try own.get("own") == "value")
    try own.remove("own")
  }

  /// Several processes create, replace and read one item, which stays one.
  @Test func storm() throws {
    let children = try (0..<4).map { _ in try ChildProcess.keychain(bus: session.address) }
    for child in children { child.send("storm \(keychain.service) k 50") }
    for child in children { #expect(child.readLine() == "ok") }
    #expect(try keychain.keys() == ["k"])
    #expect(try keychain.get("k")?.hasSuffix("-49") == true)
    try keychain.removeAll()
  }
}
