import EFStorageConformance
import EFStorageCore
import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

@Suite struct StorageTests {
  struct Login: Codable, Equatable, KeychainAccessStorable {
    var user: String
    var attempts: Int?
  }

  enum Mode: String, Codable, KeychainAccessStorable { case day, night }

  let session: KeyringSession
  let keychain: Keychain

  init() throws {
    session = try KeyringSession.shared.get()
    keychain = session.keychain()
    EFStorageFailure.trapsOnConversionFailureInDebugBuilds = false
  }

  @Test func conformance() throws {
    var conformance = EFStorageConformance<EFStorageKeychainAccess<Int>>(
      storage: keychain, other: session.keychain(), contents: [1, -2, 0])
    conformance.writePast = { keychain, key, content in
      if let content { try keychain.set("\(content)", key: key) } else { try keychain.remove(key) }
    }
    conformance.writeUnreadable = { keychain, key in try keychain.set("no number", key: key) }
    conformance.holdsAnything = { keychain, key in try keychain.contains(key) }
    #expect(conformance.violations() == [])
    #expect(try keychain.keys() == [])
  }

  private func roundTrips<Content: KeychainAccessStorable & Equatable>(_ content: Content) {
    let reference = EFStorageKeychainAccessRef<Content>.forKey("key", in: keychain)
    reference.content = content
    #expect(reference.content == content && reference.lastFailure == nil)
    reference.content = nil
    #expect(reference.content == nil)
  }

  @Test func everyType() throws {
    let contents: [any KeychainAccessStorable & Equatable] = [
      true, Int.min, Int8.max, UInt64.max, Float.infinity, Double.pi, 0.30000000000000004, "", "\u{e9}\0😀", Data(),
      Data([0, 255]), Date(timeIntervalSinceReferenceDate: 700_000_001.512_345), UUID(), Mode.night,
      URL(string: "https://example.org/a?b")!, ["a", "b"] as [String], [] as [String], Set([Mode.day, .night]),
      ["a": [1, 2]] as [String: [Int]], Login(user: "ada", attempts: nil), Login(user: "", attempts: 3),
      NSString(string: "object"), NSNumber(value: 42), String?.some("there"),
    ]
    for content in contents { roundTrips(content) }
    keychain.efStorage.flag = true
    keychain.efStorage.mode = Mode.night
    #expect(try keychain.get("flag") == "true" && keychain.get("mode") == "night")
    @EFStorageKeychainAccess(forKey: "token", in: keychain) var token: String?
    token = "secret"
    #expect(try token == "secret" && keychain.get("token") == "secret")
    token = nil
    #expect(try token == nil && !keychain.contains("token"))
  }

  /// A default never replaces a concurrent write of another thread.
  @Test func defaultsBesideWrites() throws {
    let keychain = keychain
    for round in 0..<20 {
      concurrently(3) { thread in
        let property = EFStorageKeychainAccess(
          wrappedValue: 1 + thread, forKey: "default\(round)", in: keychain, persistDefaultContent: thread > 0)
        if thread == 0 { property.wrappedValue = 1 } else { _ = property.wrappedValue }
      }
      #expect(try keychain.get("default\(round)") == "1")
    }
  }

  @Test func reportsHoldNoSecret() throws {
    let reports = Guarded<[String]>([])
    let observation = EFStorageFailure.observe { failure in
      if failure.key == "quiet" { reports { $0.append("\(failure)") } }
    }
    defer { observation.cancel() }
    try keychain.set("{\"user\": \"hunter2\", \"attempts\": \"hunter2\"}", key: "quiet")
    #expect(EFStorageKeychainAccessRef<Login>.forKey("quiet", in: keychain).content == nil)
    #expect(EFStorageKeychainAccessRef<Int>.forKey("quiet", in: keychain).content == nil)
    #expect(EFStorageKeychainAccessRef<Mode>.forKey("quiet", in: keychain).content == nil)
    #expect(reports.current.count == 3)
    for report in reports.current { #expect(!report.contains("hunter2")) }
    #expect(try keychain.contains("quiet"))
  }

  @Test func sameItemsAreTheSameStorage() {
    #expect(Keychain(service: "caf\u{e9}") != Keychain(service: "cafe\u{301}"))
    let one = Keychain(service: "a").label("label").timeout(.seconds(1))
    #expect(one == Keychain(service: "a") && one == Keychain(service: "a", accessGroup: ""))
    #expect(one != Keychain(service: "b") && one != Keychain(service: "a", accessGroup: "group"))
  }

  @Test func defaultCanBeSet() {
    let before = Keychain.defaultForEFStorage
    defer { Keychain.defaultForEFStorage = before }
    #expect(before == Keychain())
    Keychain.defaultForEFStorage = keychain
    Keychain.efStorage.number = 5
    let reference: EFStorageKeychainAccessRef<Int> = Keychain.efStorage.number
    #expect(reference.content == 5 && reference.storage == keychain)
    #expect(Keychain.efStorage.number as Int? == 5)
  }

  struct Account: Codable, Equatable, KeychainAccessStorable {
    var name: String
    var notes: [String: String]
  }

  static let texts = [
    "", "plain", "пароль", "🔐", "é", "-----BEGIN KEY-----\nMIIB\n-----END KEY-----\n", "a\nb", "a\rb", "a\r\nb", "\n",
    "\r", "a\n[2]\nsecret=forged", "[2]", "[keyring]", "secret=x", "#", "=", ";", "a\\b", "\\", "\\n", "\\q", "\\s",
    " ",
    " a", "a ", "  a  ", "\ta", "a\t", "a\tb", "a b", "\u{b}\u{c}", "\u{85}", "\u{a0}a\u{a0}", "\u{2028}", "\u{feff}a",
    "\u{0}", "a\u{0}", "a\u{0}\nb", "a\u{0}\u{ff}EFStorage", "%s%n", "\"quoted\"", "\u{7f}",
    String(repeating: "long\n", count: 5000), String(decoding: 1..<32, as: UTF8.self),
  ]

  /// A keyring without a password is a text file that contains secrets verbatim.
  @Test func everyValueOutlivesTheService() throws {
    let session = try KeyringSession(password: false)
    let service = "test\n[keyring]\\ \(UUID())"
    let keychain = session.keychain(service: service, accessGroup: " group\\\n")
    let accounts = Self.texts.map { Account(name: $0, notes: ["\\\t\($0)": $0]) }
    // Bytes that only end like a marked secret.
    let marked = Data([0, 0xff] + Array("EFStorage".utf8))
    let blobs = [Data(), Data([0]), Data([0xff, 0xfe]), marked, marked + marked, Data("a\n".utf8) + marked]
    func check(_ time: Comment) throws {
      for (number, text) in Self.texts.enumerated() {
        #expect(try keychain.get("text \(number)") == text, time)
        #expect(try keychain.getData("data \(number)") == Data(text.utf8), time)
        #expect(keychain.efStorage[dynamicMember: "account \(number)"] == accounts[number], time)
        #expect(keychain.efStorage[dynamicMember: "string \(number)"] == text, time)
        let name = text.filter { $0 != "\0" }
        let attributes = try #require(try keychain.get("\(number)" + name) { $0 })
        #expect(attributes.data == Data(text.utf8) && attributes.label == name && attributes.comment == name, time)
      }
      for (number, blob) in blobs.enumerated() { #expect(try keychain.getData("blob \(number)") == blob, time) }
      let values = Set(try keychain.items().compactMap { $0.data.map { String(decoding: $0, as: UTF8.self) } })
      #expect(values.isSuperset(of: Self.texts))
    }

    for (number, text) in Self.texts.enumerated() {
      try keychain.set(text, key: "text \(number)")
      try keychain.set(Data(text.utf8), key: "data \(number)")
      keychain.efStorage[dynamicMember: "account \(number)"] = accounts[number]
      #expect(try keychain.add(.text(text), key: "string \(number)"))
      let name = text.filter { $0 != "\0" }
      try keychain.label(name).comment(name).set(text, key: "\(number)" + name)
    }
    for (number, blob) in blobs.enumerated() { try keychain.set(blob, key: "blob \(number)") }
    try check("before")

    kill(try #require(session.keyring), SIGKILL)
    let keyring = try session.startKeyring(unlocked: false)
    try check("after")
    #expect(try keychain.keys().count == Self.texts.count * 5 + blobs.count)
    keyring.end()
  }
}
