import Foundation
import TestSupport
import Testing

@testable import EFStorageKeychainAccess

@Suite struct ItemTests {
  let session: KeyringSession
  let keychain: Keychain

  init() throws {
    session = try KeyringSession.shared.get()
    keychain = session.keychain()
  }

  static let keys = [
    "key", "", " ", "a b", "ключ", "🔑👩‍👩‍👧", "a\nb\tc", "a/b%c=d&e", "\u{1}", String(repeating: "k", count: 600),
    String(repeating: "д", count: 20_000), "xdg:schema",
  ]

  @Test(arguments: keys) func anyKey(_ key: String) throws {
    #expect(try keychain.get(key) == nil)
    #expect(try !keychain.contains(key))
    try keychain.set("value of it", key: key)
    try keychain.set("another", key: key + "2")
    #expect(try keychain.get(key) == "value of it")
    #expect(try keychain.contains(key))
    #expect(try Set(keychain.keys()) == [key, key + "2"])
    try keychain.remove(key)
    #expect(try keychain.get(key) == nil)
    #expect(try keychain.get(key + "2") == "another")
    try keychain.removeAll()
  }

  @Test(arguments: ["\0", "a\0b", "key\0"]) func keyWithNul(_ key: String) throws {
    try keychain.set("1", key: "a")
    try keychain.set("1", key: "key")
    for body in [
      { _ = try keychain.get(key) }, { _ = try keychain.getData(key) }, { _ = try keychain.contains(key) },
      { try keychain.set("x", key: key) }, { try keychain.set(Data(), key: key) }, { try keychain.remove(key) },
      { _ = try keychain.get(key) { $0 } },
    ] as [() throws -> Void] {
      expectFailure(.invalidKey, within: .seconds(1), body)
    }
    #expect(try keychain.keys().count == 2)
    try keychain.removeAll()
  }

  @Test func keysAreBytes() throws {
    try keychain.set("composed", key: "\u{e9}")
    try keychain.set("decomposed", key: "e\u{301}")
    try keychain.set("upper", key: "E")
    try keychain.set("lower", key: "e")
    #expect(try keychain.get("\u{e9}") == "composed")
    #expect(try keychain.get("e\u{301}") == "decomposed")
    #expect(try keychain.get("e") == "lower")
    #expect(try keychain.keys().count == 4)
    try keychain.removeAll()
  }

  @Test(arguments: [0, 1, 15, 16, 17, 4095, 4096, 65_537, 1 << 20, 4 << 20]) func data(_ count: Int) throws {
    var random = SeededRandom(UInt64(count))
    let data = Data(random.bytes(count))
    try keychain.set(data, key: "k")
    #expect(try keychain.getData("k") == data)
    try keychain.removeAll()
  }

  @Test func sliceOfData() throws {
    try keychain.set(Data([1, 2, 3, 4])[1..<3], key: "k")
    #expect(try keychain.getData("k") == Data([2, 3]))
    try keychain.removeAll()
  }

  @Test func dataThatIsNoText() throws {
    let data = Data([0xff, 0xfe, 0])
    try keychain.set(data, key: "k")
    expectFailure(.conversion, within: .seconds(5)) { _ = try keychain.get("k") }
    #expect(try keychain.getData("k") == data)
    try keychain.set(Data("text".utf8), key: "k")
    #expect(try keychain.get("k") == "text")
    try keychain.removeAll()
  }

  @Test func replacing() throws {
    for number in 0..<5 {
      try keychain.set("text \(number)", key: "k")
      try keychain.set(Data([UInt8(number)]), key: "k")
      try keychain.label("label \(number)").comment("comment \(number)").set("text \(number)", key: "k")
    }
    #expect(try keychain.get("k") == "text 4")
    #expect(try keychain.keys() == ["k"])
    try keychain.remove("k")
    #expect(try !keychain.contains("k"))
    try keychain.remove("k")
  }

  /// Searches match a subset of attributes, so an item with more attributes must not be confused with another.
  @Test func separateKeychains() throws {
    let service = "test-\(UUID())"
    let keychains = [
      session.keychain(service: service),
      session.keychain(service: service, accessGroup: "group"),
      session.keychain(service: service, accessGroup: "group2"),
      session.keychain(service: service + "2"),
      session.keychain(service: service.uppercased()),
      session.keychain(service: service + " "),
    ]
    for (number, keychain) in keychains.enumerated() { try keychain.set("\(number)", key: "k") }
    for (number, keychain) in keychains.enumerated() {
      #expect(try keychain.get("k") == "\(number)")
      #expect(try keychain.keys() == ["k"])
    }
    for (number, keychain) in keychains.enumerated() {
      try keychain.removeAll()
      #expect(try keychain.get("k") == nil)
      for (other, keychain) in keychains.enumerated() where other > number {
        #expect(try keychain.get("k") == "\(other)")
      }
    }
    // An empty access group counts as none.
    try session.keychain(service: service, accessGroup: "").set("x", key: "k")
    #expect(try keychains[0].get("k") == "x")
    try keychains[0].removeAll()
  }

  /// The service's own program or an older version may leave two items of one identity.
  @Test func duplicates() throws {
    let identity = try keychain.options.identity("k")
    try keychain.set("old", key: "k")
    let connection = try ServiceConnection(address: session.address, until: Deadline(after: .seconds(20)))
    let exchange = Exchange(connection, keychain.options.waits, until: Deadline(after: .seconds(20)))
    let more = identity.merging(["extra": "1"]) { $1 }
    _ = try exchange.create(
      label: "other", attributes: more, Secret(copying: .init(start: nil, count: 0), contentType: .text))
    #expect(try exchange.search(identity).unlocked.count == 2)
    try keychain.set("new", key: "k")
    #expect(try exchange.search(identity).unlocked.count == 1)
    #expect(try keychain.get("k") == "new")
    _ = try exchange.create(
      label: "other", attributes: more, Secret(copying: .init(start: nil, count: 0), contentType: .text))
    try keychain.remove("k")
    #expect(try exchange.search(identity).unlocked == [])
  }

  @Test(arguments: ["a\0b", "\0"]) func namesWithNul(_ text: String) throws {
    for wrong in [
      session.keychain(service: text), session.keychain(accessGroup: text), keychain.label(text),
      keychain.comment(text), keychain.attributes(["name": text]), keychain.attributes([text: "value"]),
    ] {
      expectFailure(.invalidAttribute, within: .seconds(1)) { try wrong.set("x", key: "k") }
    }
    #expect(try !keychain.contains("k"))
  }

  /// Another program reads the package's items, and vice versa.
  @Test func independentReader() throws {
    let tool = URL(fileURLWithPath: "/usr/bin/secret-tool")
    try #require(FileManager.default.isExecutableFile(atPath: tool.path), "Install Debian's libsecret-tools.")
    var environment = ProcessInfo.processInfo.environment
    environment["DBUS_SESSION_BUS_ADDRESS"] = session.address
    try keychain.set("written here", key: "k")
    let attributes = ["service", keychain.service, "accessGroup", "", "key", "k"]
    #expect(try lines(of: tool, ["lookup"] + attributes, environment) == "written here")
    #expect(try lines(of: tool, ["clear"] + attributes, environment) == "")
    #expect(try keychain.get("k") == nil)
  }

  private func lines(of tool: URL, _ arguments: [String], _ environment: [String: String]) throws -> String {
    let child = try ChildProcess(tool, arguments, environment: environment, ending: .endOfInput)
    let text = String(decoding: child.readToEnd(), as: UTF8.self)
    #expect(child.end() == .exit(0))
    return text
  }
}
