import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

@Suite struct KeychainStormTests {
  /// Runs on a new keyring, and retries if it has ended by itself: gnome-keyring-daemon 42 sometimes does when an item
  /// is removed during a query ("g_variant_new: expected GVariant of type 'v'").
  private func withKeyring(_ body: (KeyringSession) throws -> Void) throws {
    for _ in 0..<3 {
      let session = try KeyringSession()
      let keyring = try #require(session.keyring)
      do { return try body(session) } catch let error as KeychainError where error.code == .serviceUnavailable {
        guard eventually(within: .seconds(2), { kill(keyring, 0) != 0 }) else { throw error }
      }
    }
    Issue.record("Three keyrings have ended themselves.")
  }

  /// Runs on new threads, since calls block.
  /// - Throws: An error of one of them, preferably not the one that the service has ended.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let errors = Guarded<[any Error]>([])
    concurrently(count) { thread in
      do { try body(thread) } catch { errors { $0.append(error) } }
    }
    let other = errors.current.first { ($0 as? KeychainError)?.code != .serviceUnavailable }
    if let error = other ?? errors.current.first { throw error }
  }

  @Test func aKeyringThatEndsItselfIsReplaced() throws {
    var keyrings: [pid_t] = []
    try withKeyring { session in
      keyrings.append(try #require(session.keyring))
      if keyrings.count == 1 { kill(keyrings[0], SIGTRAP) }
      try session.keychain().set("value", key: "k")
    }
    #expect(Set(keyrings).count == 2)
    #expect(throws: KeychainError.self) {
      try withKeyring { _ in throw KeychainError(.serviceUnavailable, "The keyring is there.") }
    }
  }

  /// Each thread uses different keys on one connection.
  @Test func separateKeys() throws {
    try withKeyring { session in
      let keychain = session.keychain()
      try onThreads(8) { thread in
        for number in 0..<20 {
          let key = "\(thread)-\(number % 5)"
          try keychain.set("\(thread) \(number)", key: key)
          #expect(try keychain.get(key) == "\(thread) \(number)")
          if number % 7 == 6 {
            try keychain.remove(key)
            #expect(try keychain.get(key) == nil)
          }
        }
      }
      try keychain.removeAll()
      #expect(try keychain.keys() == [])
    }
  }

  /// Reads are never torn, and the item stays one.
  @Test func oneKey() throws {
    try withKeyring { session in
      let keychain = session.keychain()
      try keychain.set(Data(repeating: 0, count: 3000), key: "k")
      try onThreads(8) { thread in
        let data = Data(repeating: UInt8(thread), count: 3000 + thread)
        for number in 0..<20 {
          switch (thread + number) % 4 {
          case 0: try keychain.set(data, key: "k")
          case 1: try keychain.comment("\(thread)").label("\(number)").set(data.prefix(10), key: "k")
          case 2 where number > 10: try keychain.remove("k")
          default:
            if let data = try keychain.getData("k") { #expect(Set(data).count == 1) }
          }
        }
      }
      try keychain.set("last", key: "k")
      #expect(try keychain.keys() == ["k"])
      #expect(try keychain.get("k") == "last")
    }
  }

  /// Many threads connect at the same time.
  @Test func firstUse() throws {
    try withKeyring { session in
      let (options, address) = (session.keychain().options, session.address)
      for _ in 0..<5 {
        let keychain = Keychain(options, store: ItemStore { () throws(KeychainError) in address })
        try onThreads(16) { thread in
          try keychain.set("\(thread)", key: "\(thread)")
          #expect(try keychain.get("\(thread)") == "\(thread)")
        }
        #expect(try keychain.keys().count == 16)
        try keychain.removeAll()
      }
    }
  }

  /// The service restarts during use: each call succeeds or reports that it is unavailable.
  @Test func restarts() throws {
    let session = try KeyringSession()
    let keychain = session.keychain()
    try keychain.set("value", key: "k")
    kill(try #require(session.keyring), SIGKILL)
    let isOver = Guarded(false)
    try onThreads(5) { thread in
      if thread == 0 {
        defer { isOver { $0 = true } }
        for _ in 0..<5 { try session.startKeyring().end() }
        return
      }
      while !isOver.current {
        do {
          let value = try keychain.get("k")
          #expect(value == "value")
        } catch let error as KeychainError {
          // A starting service may have no open keyring yet.
          #expect([.serviceUnavailable, .locked, .promptDismissed].contains(error.code), "\(error)")
        }
      }
    }
  }
}
