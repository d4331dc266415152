import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

@Suite struct KeychainStormTests {
  let session: KeyringSession
  let keychain: Keychain

  init() throws {
    session = try KeyringSession.shared.get()
    keychain = session.keychain()
  }

  /// Runs on threads of its own, since calls block.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) {
    let threads = (0..<count).map { number in
      let done = DispatchSemaphore(value: 0)
      let thread = Thread {
        do { try body(number) } catch { Issue.record(error) }
        done.signal()
      }
      thread.start()
      return done
    }
    for done in threads { done.wait() }
  }

  /// Each thread its keys, all on one connection.
  @Test func separateKeys() throws {
    let keychain = keychain
    onThreads(8) { thread in
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

  /// All threads one key: what is read was written whole, and the item stays one.
  @Test func oneKey() throws {
    let keychain = keychain
    try keychain.set(Data(repeating: 0, count: 3000), key: "k")
    onThreads(8) { thread in
      for number in 0..<20 {
        switch (thread + number) % 4 {
        case 0: try keychain.set(Data(repeating: UInt8(thread), count: 3000 + thread), key: "k")
        case 1:
          try keychain.comment("\(thread)").label("\(number)").set(Data(repeating: UInt8(thread), count: 10), key: "k")
        case 2 where number > 10: try keychain.remove("k")
        default:
          if let data = try keychain.getData("k") { #expect(Set(data).count == 1) }
        }
      }
    }
    try keychain.set("last", key: "k")
    #expect(try keychain.keys() == ["k"])
    #expect(try keychain.get("k") == "last")
    try keychain.removeAll()
  }

  /// Many threads that all find no connection yet.
  @Test func firstUse() throws {
    let options = keychain.options
    let address = session.address
    for _ in 0..<5 {
      let keychain = Keychain(options, store: ItemStore { () throws(KeychainError) in address })
      onThreads(16) { thread in
        try keychain.set("\(thread)", key: "\(thread)")
        #expect(try keychain.get("\(thread)") == "\(thread)")
      }
      #expect(try keychain.keys().count == 16)
      try keychain.removeAll()
    }
  }

  /// The service ends and comes back while threads use it: each call works or says that it is unavailable.
  @Test func restarts() throws {
    let session = try KeyringSession()
    let keychain = session.keychain()
    try keychain.set("value", key: "k")
    kill(try #require(session.keyring), SIGKILL)
    let stop = Stop()
    let restarting = Thread {
      for _ in 0..<5 {
        do { try session.startKeyring().end() } catch { Issue.record(error) }
      }
      stop.set()
    }
    restarting.start()
    onThreads(4) { _ in
      while !stop.isSet {
        do {
          let value = try keychain.get("k")
          #expect(value == "value")
        } catch let error as KeychainError {
          // A service that is asked while it starts may have nothing open yet.
          #expect([.serviceUnavailable, .locked, .promptDismissed].contains(error.code), "\(error)")
        }
      }
    }
  }
}

private final class Stop: @unchecked Sendable {
  // Sendable: behind its lock.
  private let lock = NSLock()
  private var value = false
  var isSet: Bool { lock.withLock { value } }
  func set() { lock.withLock { value = true } }
}
