import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

/// A keyring without a password is a text file that contains secrets verbatim.
@Suite struct KeyringFileTests {
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
