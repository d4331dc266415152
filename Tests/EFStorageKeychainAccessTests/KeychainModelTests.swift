import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

/// Compares random calls on keychains with dictionaries. Each keychain differs from another in one part of its
/// identity. The service searches a subset of attributes, so an item must not be confused with another.
@Suite struct KeychainModelTests {
  private struct Stored {
    var data = Data()
    /// Set by modifiers; later writes without them keep it.
    var label: String?
    var comment: String?
    var count: String?
  }

  /// Keys by their bytes: `==` treats some of these as equal.
  private typealias Contents = [[UInt8]: Stored]

  private static let keys = [
    "key", "", " ", "a b", "ключ", "🔑👩‍👩‍👧", "a\nb\tc", "a/b%c=d&e", "\u{1}", "E", "e", "\u{e9}", "e\u{301}",
    "xdg:schema", String(repeating: "k", count: 600), String(repeating: "д", count: 20_000),
  ]

  private func keychains(_ session: KeyringSession) -> [Keychain] {
    let name = UUID().uuidString.lowercased()
    func internet(
      _ server: String, _ protocolType: ProtocolType = .https, group: String? = nil,
      _ authenticationType: AuthenticationType = .default
    ) -> Keychain {
      let keychain = Keychain(
        server: URL(string: server)!, protocolType: protocolType, accessGroup: group,
        authenticationType: authenticationType)
      return Keychain(keychain.options, store: session.store)
    }
    let host = "https://\(name).example.com"
    return [
      session.keychain(service: name), session.keychain(service: name, accessGroup: "group"),
      session.keychain(service: name, accessGroup: "group2"), session.keychain(service: name + "2"),
      session.keychain(service: name.uppercased()), session.keychain(service: name + " "),
      session.keychain(service: "\(name).example.com"), internet(host), internet(host + ":8443"),
      internet("https://www.\(name).example.com"), internet(host, .http), internet(host, .https, .htmlForm),
      internet(host, group: "group"),
      // Without a host, the whole text is the server, so that it never matches every server.
      internet("\(name)-alone"),
    ]
  }

  @Test(arguments: 0..<3) func randomCalls(_ seed: Int) throws {
    let keychains = keychains(try KeyringSession.shared.get())
    var contents = keychains.map { _ in Contents() }
    var random = SeededRandom(UInt64(seed))
    for step in 0..<150 {
      let place = random.below(keychains.count)
      let (keychain, name) = (keychains[place], Self.keys[random.below(Self.keys.count)])
      let key = Array(name.utf8)
      switch random.below(9) {
      case 0...2:
        let data = Data(random.bytes([0, 1, 15, 16, 17, 4_096, 65_537][random.below(7)]))
        // A slice too, whose indices do not begin at 0.
        try keychain.set(random.below(2) == 0 ? data : (Data([9]) + data).dropFirst(), key: name)
        contents[place][key, default: Stored()].data = data
      case 3:
        keychain[name] = "text \(step)"
        contents[place][key, default: Stored()].data = Data("text \(step)".utf8)
      case 4:
        try keychain.label("label \(step)").comment("comment \(step)").set("text", key: name)
        let old = contents[place][key]
        contents[place][key] = Stored(
          data: Data("text".utf8), label: "label \(step)", comment: "comment \(step)", count: old?.count)
      case 5:
        try keychain.attributes(["count": step]).set("counted", key: name)
        contents[place][key, default: Stored()].data = Data("counted".utf8)
        contents[place][key]?.count = "\(step)"
      case 6:
        try keychain.remove(name)
        contents[place][key] = nil
      case 7:
        keychain[data: name] = nil
        contents[place][key] = nil
      case _ where random.below(4) == 0:
        try keychain.removeAll()
        contents[place] = [:]
      default: break
      }
      try check(keychain, name, contents[place][key], "step \(step)")
    }
    for (keychain, contents) in zip(keychains, contents) {
      let keys = Set(contents.keys)
      #expect(try Set(keychain.keys().map { Array($0.utf8) }) == keys)
      #expect(Set(keychain.allKeys().map { Array($0.utf8) }) == keys)
      let items = try keychain.items()
      #expect(items.count == keys.count)
      for item in items { #expect(item.data == contents[Array((item.account ?? "").utf8)]?.data) }
      for name in Self.keys { try check(keychain, name, contents[Array(name.utf8)], "the end") }
    }
    for keychain in keychains { try keychain.removeAll() }
  }

  private func check(_ keychain: Keychain, _ name: String, _ stored: Stored?, _ comment: Comment) throws {
    #expect(try keychain.contains(name) == (stored != nil), comment)
    #expect(try keychain.getData(name) == stored?.data, comment)
    if let data = stored?.data, String(validating: data, as: UTF8.self) == nil {
      expectFailure(.conversion, within: .seconds(5)) { _ = try keychain.get(name) }
    } else {
      #expect(try keychain.get(name) == stored.map { String(decoding: $0.data, as: UTF8.self) }, comment)
    }
    let attributes = try keychain.get(name) { $0 }
    #expect(attributes?.comment == stored?.comment && attributes?["count"] == stored?.count, comment)
    if let label = stored?.label { #expect(attributes?.label == label, comment) }
  }
}
