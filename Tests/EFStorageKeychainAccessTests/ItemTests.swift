import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

/// Items and their attributes, as far as random calls do not try them.
@Suite struct ItemTests {
  let session: KeyringSession
  let keychain: Keychain

  init() throws {
    session = try KeyringSession.shared.get()
    keychain = session.keychain()
  }

  @Test(arguments: ["\0", "a\0b", "key\0"]) func textsWithNul(_ text: String) throws {
    try keychain.set("1", key: "a")
    try keychain.set("1", key: "key")
    for body in [
      { _ = try keychain.get(text) }, { _ = try keychain.getData(text) }, { _ = try keychain.contains(text) },
      { try keychain.set("x", key: text) }, { try keychain.set(Data(), key: text) }, { try keychain.remove(text) },
      { _ = try keychain.get(text) { $0 } },
    ] as [() throws -> Void] {
      expectFailure(.invalidKey, within: .seconds(60), body)
    }
    for wrong in [
      session.keychain(service: text), session.keychain(accessGroup: text), keychain.label(text),
      keychain.comment(text), keychain.attributes(["name": text]), keychain.attributes([text: "value"]),
    ] {
      expectFailure(.invalidAttribute, within: .seconds(60)) { try wrong.set("x", key: "k") }
    }
    #expect(try Set(keychain.keys()) == ["a", "key"])
    try keychain.removeAll()
  }

  @Test func attributes() throws {
    let (before, secret) = (Date(), "the-secret-\(UUID())")
    try keychain.set(secret, key: "key")
    let attributes = try #require(try keychain.get("key") { $0 })
    #expect(attributes.data == Data(secret.utf8) && attributes.label == "\(keychain.service): key")
    #expect(attributes.account == "key" && attributes.service == keychain.service)
    #expect(attributes.accessGroup == nil && attributes.comment == nil)
    #expect(attributes["service"] == keychain.service && attributes["nothing"] == nil)
    let created = try #require(attributes.creationDate)
    #expect(abs(created.timeIntervalSince(before)) < 60)
    #expect(try #require(attributes.modificationDate) >= created)
    // Nothing prints the secret.
    var dumped = ""
    dump(attributes, to: &dumped)
    dump(keychain, to: &dumped)
    let printed = "\(attributes) \(String(reflecting: attributes)) \(dumped) \(keychain)"
    #expect(!printed.contains(secret) && "\(keychain)" == "Keychain(service: \(keychain.service))")
    struct Own: Error {}
    #expect(throws: Own.self) { try keychain.get("key") { _ in throw Own() } }

    let url = try #require(URL(string: "https://\(keychain.service).example.com:8443/path?a=b"))
    let options = Keychain(server: url, protocolType: .imaps, accessGroup: "group", authenticationType: .httpDigest)
      .options
    let internet = Keychain(options, store: session.store)
    // Large data too.
    var random = SeededRandom(1)
    let data = Data(random.bytes(4 << 20))
    try internet.set(data, key: "user")
    let other = try #require(try internet.get("user") { $0 })
    #expect(other.data == data && other.server == url.host && other.port == 8443)
    #expect(other["protocol"] == ProtocolType.imaps.rawValue)
    #expect(other["authenticationType"] == AuthenticationType.httpDigest.rawValue)
    #expect(other.accessGroup == "group" && other.service == nil)
    #expect(other.label == "\(url.host ?? ""): user")
    for keychain in [keychain, internet] { try keychain.removeAll() }
  }

  @Test func valuesOfAttributes() throws {
    let values: [String: Any] = ["creator": "me", "isInvisible": true, "big": UInt64.max, "generic": Data([1, 2])]
    try keychain.attributes(values).set("value", key: "k")
    try keychain.attributes(["isInvisible": false]).set("second", key: "k")
    let attributes = try #require(try keychain.get("k") { $0 })
    #expect(attributes["creator"] == "me" && attributes["isInvisible"] == "false")
    #expect(attributes["big"] == "18446744073709551615")
    #expect(attributes["generic"] == Data([1, 2]).base64EncodedString())
    for value in [1.5, Date(), ["list"], URL(fileURLWithPath: "/")] as [Any] {
      let wrong = keychain.attributes(["name": value])
      expectFailure(.invalidAttribute, within: .seconds(60)) { try wrong.set("value", key: "wrong") }
      // The last one wins.
      try wrong.attributes(["name": "text"]).set("value", key: "k")
    }
    for name in ["service", "accessGroup", "key", "xdg:schema", "xdg:other", "class", "server", "port", ""] {
      let reserved = keychain.attributes([name: "x"])
      expectFailure(.invalidAttribute, within: .seconds(60)) { try reserved.set("value", key: "wrong") }
    }
    #expect(try keychain.get("k") { $0?["name"] } == "text" && keychain.keys() == ["k"])
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
    // An empty access group counts as none.
    try session.keychain(service: name, accessGroup: "").set("x", key: "k")
    #expect(try session.keychain(service: name).get("k") == "x")
    try session.keychain(service: name).removeAll()
    let plain = Keychain(service: "s", accessGroup: "g")
    #expect(plain.accessGroup == "g" && plain.itemClass == .genericPassword)
    #expect(plain.options.waits.timeout == .seconds(5) && plain.options.waits.interactionTimeout == .seconds(60))
    let internet = Keychain(server: URL(string: "https://a.b")!, protocolType: .https)
    #expect(internet.itemClass == .internetPassword && internet.authenticationType == .default)
    #expect(internet.server == URL(string: "https://a.b") && internet.service == "")
    #expect("\(internet)" == "Keychain(server: https://a.b, protocolType: https)")
    #expect(Keychain().service == Keychain(accessGroup: "g").service && !Keychain().service.isEmpty)
    #expect(ItemClass(rawValue: "genp") == .genericPassword && ProtocolType.https.rawValue == "htps")
  }

  /// Another program reads the package's items, and vice versa.
  @Test func independentReader() throws {
    let tool = URL(fileURLWithPath: "/usr/bin/secret-tool")
    try #require(FileManager.default.isExecutableFile(atPath: tool.path), "Install Debian's libsecret-tools.")
    var environment = ProcessInfo.processInfo.environment
    environment["DBUS_SESSION_BUS_ADDRESS"] = session.address
    func lines(_ arguments: String...) throws -> String {
      let attributes = ["service", keychain.service, "accessGroup", "", "key", "k"]
      let child = try ChildProcess(tool, arguments + attributes, environment: environment, ending: .endOfInput)
      let text = String(decoding: child.readToEnd(), as: UTF8.self)
      #expect(child.end() == .exit(0))
      return text
    }
    try keychain.set("written here", key: "k")
    #expect(try lines("lookup") == "written here")
    #expect(try lines("clear") == "")
    #expect(try keychain.get("k") == nil)
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
