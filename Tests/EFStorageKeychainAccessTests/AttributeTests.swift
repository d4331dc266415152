import Foundation
import Testing

@testable import EFStorageKeychainAccess

@Suite struct AttributeTests {
  let session: KeyringSession
  let keychain: Keychain

  init() throws {
    session = try KeyringSession.shared.get()
    keychain = session.keychain()
  }

  @Test func defaults() throws {
    let before = Date()
    try keychain.set("value", key: "key")
    let attributes = try #require(try keychain.get("key") { $0 })
    #expect(attributes.data == Data("value".utf8))
    #expect(attributes.label == "\(keychain.service): key")
    #expect(attributes.account == "key")
    #expect(attributes.service == keychain.service)
    #expect(attributes.accessGroup == nil)
    #expect(attributes.comment == nil)
    #expect(attributes["service"] == keychain.service)
    #expect(attributes["nothing"] == nil)
    let created = try #require(attributes.creationDate)
    let modified = try #require(attributes.modificationDate)
    #expect(abs(created.timeIntervalSince(before)) < 60)
    #expect(modified >= created)
    #expect(try keychain.get("none") { $0?.data } == nil)
    try keychain.removeAll()
  }

  @Test func whatModifiersSet() throws {
    try keychain.label("Label").comment("Comment")
      .attributes([
        "creator": "me", "isInvisible": true, "count": 42, "big": UInt64.max, "generic": Data([1, 2]),
      ]).set("value", key: "k")
    var attributes = try #require(try keychain.get("k") { $0 })
    #expect(attributes.label == "Label")
    #expect(attributes.comment == "Comment")
    #expect(attributes["creator"] == "me")
    #expect(attributes["isInvisible"] == "true")
    #expect(attributes["count"] == "42")
    #expect(attributes["big"] == "18446744073709551615")
    #expect(attributes["generic"] == Data([1, 2]).base64EncodedString())
    // The plain keychain finds it and keeps its attributes on the next write, as does one that changes some.
    #expect(try keychain.get("k") == "value")
    try keychain.set("second", key: "k")
    try keychain.comment("Other").attributes(["isInvisible": false]).set("third", key: "k")
    attributes = try #require(try keychain.get("k") { $0 })
    #expect(attributes.label == "Label")
    #expect(attributes.comment == "Other")
    #expect(attributes["creator"] == "me")
    #expect(attributes["isInvisible"] == "false")
    #expect(attributes.data == Data("third".utf8))
    #expect(try keychain.keys() == ["k"])
    try keychain.removeAll()
  }

  @Test func modifiersMakeOthers() {
    let other = keychain.label("l").comment("c").authenticationUI(.fail).timeout(.seconds(1)).interactionTimeout(
      .seconds(2))
    #expect(other.options.label == "l")
    #expect(other.options.comment == "c")
    #expect(other.options.waits.authenticationUI == .fail)
    #expect(other.options.waits.timeout == .seconds(1))
    #expect(other.options.waits.interactionTimeout == .seconds(2))
    #expect(other.service == keychain.service)
    #expect(keychain.options.label == nil)
    #expect(keychain.options.comment == nil)
    #expect(keychain.options.waits.authenticationUI == .allow)
    let plain = Keychain(service: "s")
    #expect(plain.options.waits.timeout == .seconds(5))
    #expect(plain.options.waits.interactionTimeout == .seconds(60))
  }

  @Test(arguments: ["service", "accessGroup", "key", "xdg:schema", "xdg:other", "class", "server", "port", ""])
  func reservedNames(_ name: String) throws {
    expectFailure(.invalidAttribute, within: .seconds(1)) {
      try keychain.attributes([name: "x"]).set("value", key: "k")
    }
    #expect(try !keychain.contains("k"))
    #expect(try keychain.attributes([name: "x"]).get("k") == nil)
  }

  @Test func valuesThatAreNoText() throws {
    for value in [1.5, Date(), ["list"], URL(fileURLWithPath: "/")] as [Any] {
      expectFailure(.invalidAttribute, within: .seconds(1)) {
        try keychain.attributes(["name": value]).set("value", key: "k")
      }
      // The last one wins.
      try keychain.attributes(["name": value]).attributes(["name": "text"]).set("value", key: "k")
    }
    #expect(try keychain.get("k") { $0?["name"] } == "text")
    try keychain.removeAll()
  }

  @Test func publicInitializers() throws {
    let name = "test-\(UUID())"
    for keychain in [
      Keychain(service: name), Keychain(service: name, accessGroup: "group"),
      Keychain(service: name, accessGroup: String?.none),
      Keychain(server: URL(string: "https://\(name).example.com")!, protocolType: .https),
    ] {
      try keychain.set("value", key: "k")
      #expect(try keychain.get("k") == "value")
      #expect(keychain.allKeys() == ["k"])
      try keychain.removeAll()
    }
  }

  @Test func subscripts() throws {
    keychain["k"] = "text"
    #expect(keychain["k"] == "text")
    #expect(keychain[data: "k"] == Data("text".utf8))
    keychain[data: "d"] = Data([0xff])
    #expect(keychain[data: "d"] == Data([0xff]))
    keychain["k"] = nil
    keychain[data: "d"] = nil
    #expect(keychain["k"] == nil)
    #expect(keychain[data: "d"] == nil)
    #expect(try keychain.keys() == [])
  }

  @Test func handlersError() throws {
    struct Own: Error {}
    #expect(throws: Own.self) { try keychain.get("k") { _ in throw Own() } }
  }

  @Test func listing() throws {
    let group = session.keychain(service: keychain.service, accessGroup: "group")
    for number in 0..<10 { try keychain.set("value \(number)", key: "key \(number)") }
    try keychain.set(Data([0xff]), key: "data")
    try group.set("other", key: "in group")
    #expect(try Set(keychain.keys()) == Set((0..<10).map { "key \($0)" } + ["data"]))
    #expect(Set(keychain.allKeys()) == Set(try keychain.keys()))
    #expect(try keychain.items().count == 11)
    let item = try #require(try group.items().first)
    #expect(item.service == keychain.service && item.accessGroup == "group" && item.account == "in group")
    #expect(item.data == Data("other".utf8))
    let data = try #require(try keychain.items().first { $0.account == "data" })
    #expect(data.data == Data([0xff]) && data.accessGroup == nil)
    try keychain.removeAll()
    #expect(try keychain.keys() == [])
    #expect(try group.keys() == ["in group"])
    try group.removeAll()
  }

  @Test func nothingPrintsTheSecret() throws {
    let secret = "the-secret-\(UUID())"
    try keychain.set(secret, key: "k")
    let attributes = try #require(try keychain.get("k") { $0 })
    var dumped = ""
    dump(attributes, to: &dumped)
    dump(keychain, to: &dumped)
    let printed = "\(attributes) \(String(reflecting: attributes)) \(dumped) \(keychain)"
    #expect(!printed.contains(secret))
    #expect("\(keychain)" == "Keychain(service: \(keychain.service))")
    try keychain.removeAll()
  }
}
