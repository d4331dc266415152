import Foundation
import Testing

@testable import EFStorageKeychainAccess

@Suite struct InternetPasswordTests {
  let session: KeyringSession
  let host = "\(UUID().uuidString.lowercased()).example.com"

  init() throws { session = try KeyringSession.shared.get() }

  private func keychain(
    _ server: String, _ protocolType: ProtocolType = .https, group: String? = nil,
    _ authenticationType: AuthenticationType = .default
  ) -> Keychain {
    let keychain = Keychain(
      server: URL(string: server)!, protocolType: protocolType, accessGroup: group,
      authenticationType: authenticationType)
    return Keychain(keychain.options, store: session.store)
  }

  @Test func whatTellsThemApart() throws {
    let keychains = [
      keychain("https://\(host)"), keychain("https://\(host):8443"), keychain("https://www.\(host)"),
      keychain("https://\(host)", .http), keychain("https://\(host)", .https, .htmlForm),
      keychain("https://\(host)", group: "group"), session.keychain(service: host),
    ]
    for (number, keychain) in keychains.enumerated() { try keychain.set("\(number)", key: "user") }
    for (number, keychain) in keychains.enumerated() {
      #expect(try keychain.get("user") == "\(number)")
      #expect(try keychain.keys() == ["user"])
    }
    // The path does not.
    #expect(try keychain("https://\(host)/login?next=1").get("user") == "0")
    for keychain in keychains { try keychain.removeAll() }
  }

  @Test func attributes() throws {
    let keychain = keychain("https://\(host):8443/path", .imaps, group: "group", .httpDigest)
    try keychain.set("value", key: "user")
    let attributes = try #require(try keychain.get("user") { $0 })
    #expect(attributes.server == host)
    #expect(attributes.port == 8443)
    #expect(attributes["protocol"] == ProtocolType.imaps.rawValue)
    #expect(attributes["authenticationType"] == AuthenticationType.httpDigest.rawValue)
    #expect(attributes.accessGroup == "group")
    #expect(attributes.service == nil)
    #expect(attributes.label == "\(host): user")
    try keychain.removeAll()
  }

  /// Without a host, the whole text is the server, so that it never matches every server.
  @Test func serverWithoutAHost() throws {
    let first = keychain(host)
    let second = keychain("other." + host)
    try first.set("1", key: "k")
    #expect(try second.get("k") == nil)
    try second.removeAll()
    #expect(try first.get("k") == "1")
    try first.removeAll()
  }

  @Test func names() {
    #expect(Set(ProtocolType.allCases.map(\.rawValue)).count == 31)
    #expect(Set(AuthenticationType.allCases.map(\.rawValue)).count == 8)
    #expect(ProtocolType.https.rawValue == "htps")
    #expect(ItemClass(rawValue: "genp") == .genericPassword && ItemClass(rawValue: "inet") == .internetPassword)
    #expect(ItemClass(rawValue: "x") == nil)
    let keychain = Keychain(server: URL(string: "https://a.b")!, protocolType: .https)
    #expect(keychain.itemClass == .internetPassword && keychain.authenticationType == .default)
    #expect(keychain.server == URL(string: "https://a.b") && keychain.service == "")
    #expect("\(keychain)" == "Keychain(server: https://a.b, protocolType: https)")
    #expect(Keychain().service == Keychain(accessGroup: "g").service && !Keychain().service.isEmpty)
    #expect(Keychain(service: "s", accessGroup: "g").accessGroup == "g")
  }
}
