import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

/// Each test locks a keyring of its own.
@Suite struct LockTests {
  static let soon = Duration.seconds(20)

  @Test func lockedAndUnlocked() throws {
    let session = try KeyringSession()
    let keychain = session.keychain()
    try keychain.set("value", key: "k")
    try session.lock()
    for impatient in [keychain.authenticationUI(.fail), keychain.interactionTimeout(.zero)] {
      for call in impatient.everyCall { expectFailure(.locked, within: Self.soon, call) }
    }
    // No program can prompt.
    for call in keychain.everyCall { expectFailure(.promptDismissed, within: Self.soon, call) }
    #expect(try keychain.contains("k") && !keychain.contains("new"))
    let skipping = keychain.authenticationUI(.skip)
    #expect(try skipping.get("k") == nil && skipping.get("k") { $0?.data } == nil && skipping.keys() == [])
    #expect(try skipping.contains("k"))
    for write in [
      { try skipping.set("x", key: "k") }, { try skipping.set("x", key: "new") }, { try skipping.remove("k") },
      { try skipping.removeAll() },
    ] as [() throws -> Void] {
      expectFailure(.locked, within: Self.soon, write)
    }
    try session.unlock()
    #expect(try keychain.get("k") == "value" && keychain.keys() == ["k"])
  }

  /// The prompter never shows anything.
  @Test func prompterThatHangs() throws {
    let session = try KeyringSession(services: [
      "org.gnome.keyring.SystemPrompter": "/bin/sleep 60", "org.gnome.keyring.PrivatePrompter": "/bin/sleep 60",
    ])
    let keychain = session.keychain().interactionTimeout(.milliseconds(300))
    try keychain.set("value", key: "k")
    try session.lock()
    for call in keychain.everyCall {
      let (_, time) = expectFailure(.locked, within: Self.soon, call)
      #expect(time > .milliseconds(250))
    }
    // The prompts are closed, and nothing waits for them.
    try session.unlock()
    #expect(try keychain.get("k") == "value")
  }

  /// A keyring locked at startup identifies items by digests of their attributes.
  @Test func neverUnlocked() throws {
    let session = try KeyringSession()
    let keychain = session.keychain().authenticationUI(.fail)
    try keychain.set("value", key: "k")
    kill(try #require(session.keyring), SIGKILL)
    let keyring = try session.startKeyring(unlocked: false)
    expectFailure(.locked, within: Self.soon) { _ = try keychain.get("k") }
    expectFailure(.locked, within: Self.soon) { _ = try keychain.keys() }
    #expect(try keychain.contains("k"))
    try session.unlock()
    #expect(try keychain.get("k") == "value" && keychain.keys() == ["k"])
    keyring.end()
  }

  /// A service without a keyring would ask for the password of a new one.
  @Test func noKeyring() throws {
    let session = try KeyringSession(keyring: false)
    let keyring = try session.startKeyring(unlocked: false)
    let keychain = session.keychain()
    #expect(try keychain.get("k") == nil && keychain.keys() == [])
    try keychain.remove("k")
    expectFailure(.noKeyring, within: Self.soon) { try keychain.authenticationUI(.fail).set("x", key: "k") }
    expectFailure(.promptDismissed, within: Self.soon) { try keychain.set("x", key: "k") }
    keyring.end()
  }
}
