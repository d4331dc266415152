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
    #expect(attributes.class == "genp")
    #expect(attributes.data == Data("value".utf8))
    #expect(attributes.label == "\(keychain.service): key")
    #expect(attributes.account == "key")
    #expect(attributes.service == keychain.service)
    #expect(attributes.accessGroup == nil)
    #expect(attributes.comment == nil)
    #expect(attributes.accessible == nil)
    #expect(attributes.synchronizable == nil)
    #expect(attributes["service"] as? String == keychain.service)
    #expect(attributes["nothing"] == nil)
    let created = try #require(attributes.creationDate)
    let modified = try #require(attributes.modificationDate)
    #expect(abs(created.timeIntervalSince(before)) < 60)
    #expect(modified >= created)
    #expect(try keychain.get("none") { $0?.data } == nil)
    try keychain.removeAll()
  }

  @Test func whatModifiersSet() throws {
    try keychain.label("Label").comment("Comment").accessibility(.whenUnlocked).synchronizable(true)
      .attributes([
        "creator": "me", "isInvisible": true, "count": 42, "big": UInt64.max, "generic": Data([1, 2]),
      ]).set("value", key: "k")
    var attributes = try #require(keychain[attributes: "k"])
    #expect(attributes.label == "Label")
    #expect(attributes.comment == "Comment")
    #expect(attributes.accessible == Accessibility.whenUnlocked.rawValue)
    #expect(attributes.synchronizable == true)
    #expect(attributes.creator == "me")
    #expect(attributes.isInvisible == true)
    #expect(attributes["count"] as? String == "42")
    #expect(attributes["big"] as? String == "18446744073709551615")
    #expect(attributes.generic == Data([1, 2]))
    // The plain keychain finds it and keeps its attributes on the next write, as does one that changes some.
    #expect(try keychain.get("k") == "value")
    try keychain.set("second", key: "k")
    try keychain.comment("Other").attributes(["isInvisible": false]).set("third", key: "k")
    attributes = try #require(keychain[attributes: "k"])
    #expect(attributes.label == "Label")
    #expect(attributes.comment == "Other")
    #expect(attributes.creator == "me")
    #expect(attributes.isInvisible == false)
    #expect(attributes.data == Data("third".utf8))
    #expect(try keychain.keys() == ["k"])
    try keychain.removeAll()
  }

  @Test func modifiersMakeOthers() {
    let other = keychain.label("l").comment("c").synchronizable(true).accessibility(.always)
      .authenticationPrompt("p").authenticationUI(.fail).timeout(.seconds(1)).interactionTimeout(.seconds(2))
    #expect(other.label == "l")
    #expect(other.comment == "c")
    #expect(other.synchronizable)
    #expect(other.accessibility == .always)
    #expect(other.authenticationPrompt == "p")
    #expect(other.authenticationUI == .fail)
    #expect(other.timeout == .seconds(1))
    #expect(other.interactionTimeout == .seconds(2))
    #expect(other.service == keychain.service)
    #expect(keychain.label == nil)
    #expect(keychain.comment == nil)
    #expect(!keychain.synchronizable)
    #expect(keychain.accessibility == .afterFirstUnlock)
    #expect(keychain.authenticationUI == .allow)
    let plain = Keychain(service: "s")
    #expect(plain.timeout == .seconds(5))
    #expect(plain.interactionTimeout == .seconds(60))
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
    #expect(keychain[attributes: "k"]?["name"] as? String == "text")
    try keychain.removeAll()
  }

  @Test func publicInitializers() throws {
    let name = "test-\(UUID())"
    for keychain in [
      Keychain(service: name), Keychain(service: name, accessGroup: "group"),
      Keychain(service: name, accessGroup: String?.none),
      Keychain(server: "https://\(name).example.com", protocolType: .https),
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
    #expect(keychain[string: "k"] == "text")
    #expect(keychain[data: "k"] == Data("text".utf8))
    keychain[data: "d"] = Data([0xff])
    #expect(keychain[data: "d"] == Data([0xff]))
    #expect(keychain[attributes: "d"]?.data == Data([0xff]))
    keychain[string: "k"] = nil
    keychain[data: "d"] = nil
    #expect(keychain["k"] == nil)
    #expect(keychain[data: "d"] == nil)
    #expect(keychain[attributes: "d"] == nil)
    #expect(try keychain.keys() == [])
  }

  @Test func parametersOfKeychainAccess() throws {
    try keychain.set("1", key: "k", ignoringAttributeSynchronizable: false)
    try keychain.set(Data("2".utf8), key: "k", ignoringAttributeSynchronizable: true)
    #expect(try keychain.get("k", ignoringAttributeSynchronizable: false) == "2")
    #expect(try keychain.getString("k", ignoringAttributeSynchronizable: false) == "2")
    #expect(try keychain.getData("k", ignoringAttributeSynchronizable: false) == Data("2".utf8))
    #expect(try keychain.get("k", ignoringAttributeSynchronizable: false) { $0?.account } == "k")
    #expect(try keychain.contains("k", withoutAuthenticationUI: true))
    #expect(keychain["k", false] == "2")
    try keychain.remove("k", ignoringAttributeSynchronizable: false)
    #expect(try keychain.keys() == [])
  }

  @Test func handlersError() throws {
    struct Own: Error {}
    #expect(throws: Own.self) { try keychain.get("k") { _ in throw Own() } }
  }

  @Test func listing() throws {
    let group = session.keychain(service: keychain.service, accessGroup: "group").accessibility(.always)
    for number in 0..<10 { try keychain.set("value \(number)", key: "key \(number)") }
    try keychain.set(Data([0xff]), key: "data")
    try group.synchronizable(true).set("other", key: "in group")
    #expect(try Set(keychain.keys()) == Set((0..<10).map { "key \($0)" } + ["data"]))
    #expect(Set(keychain.allKeys()) == Set(try keychain.keys()))
    #expect(keychain.allItems().count == 11)
    let item = try #require(group.allItems().first)
    #expect(
      item as? [String: String] == [
        "class": "GenericPassword", "service": keychain.service, "accessGroup": "group", "key": "in group",
        "value": "other", "accessibility": "Always", "synchronizable": "true",
      ])
    let data = try #require(keychain.allItems().first { $0["key"] as? String == "data" })
    #expect(data["value"] as? Data == Data([0xff]))
    #expect(data["accessGroup"] == nil)
    try keychain.removeAll()
    #expect(try keychain.keys() == [])
    #expect(try group.keys() == ["in group"])
    try group.removeAll()
  }

  @Test func nothingPrintsTheSecret() throws {
    let secret = "the-secret-\(UUID())"
    try keychain.set(secret, key: "k")
    let attributes = try #require(keychain[attributes: "k"])
    var dumped = ""
    dump(attributes, to: &dumped)
    dump(keychain, to: &dumped)
    let printed = "\(attributes) \(attributes.debugDescription) \(String(reflecting: attributes)) \(dumped) \(keychain)"
    #expect(!printed.contains(secret))
    #expect("\(keychain)" == "Keychain(service: \(keychain.service))")
    try keychain.removeAll()
  }
}
