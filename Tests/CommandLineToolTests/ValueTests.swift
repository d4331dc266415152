import CBORCoding
import Foundation
import LMDBCaching
import Testing

@Suite struct ValueTests {
  let scratch = try! Scratch()

  @Test func aValueOfTheCommandLineComesBackUndecorated() async throws {
    let set = try await Tool.run("set", "greeting", "hello", "--cache", scratch.cache)
    #expect(set.status == 0)
    #expect(set.output.isEmpty)
    #expect(set.errors == "")
    let get = try await Tool.run("get", "greeting", "--cache", scratch.cache)
    #expect(get.status == 0)
    #expect(get.text == "hello")
    #expect(get.errors == "")
  }

  @Test(arguments: [
    "two words", "line\nbreak", "tab\tand\\backslash", "日本語 🗝", "e\u{301}", "\u{E9}", "", "- -", "a/b",
    String(repeating: "long", count: 300),
  ])
  func everyKeyIsTakenAsItIs(_ key: String) async throws {
    let set = try await Tool.run("set", "--cache", scratch.cache, "--", key, "value of \(key)")
    #expect(set.status == 0, "\(set.errors)")
    let get = try await Tool.run("get", "--cache", scratch.cache, "--", key)
    #expect(get.text == "value of \(key)")
    let quiet = try await Tool.run("ls", "-q", "-0", "--cache", scratch.cache)
    #expect(quiet.output == Data((key + "\0").utf8))
    let table = try await Tool.run("ls", "--cache", scratch.cache)
    #expect(table.text.split(separator: "\n").count == 2)
    let json: [ListedEntry] = try await Tool.run("ls", "--json", "--cache", scratch.cache).json()
    #expect(json.map { Array($0.key.utf8) } == [Array(key.utf8)])
    #expect(try await Tool.run("rm", "--cache", scratch.cache, "--", key).status == 0)
    #expect(try await Tool.run("get", "--cache", scratch.cache, "--", key).status == 1)
  }

  @Test func keysThatDifferInNormalizationAreTwo() async throws {
    _ = try await Tool.run("set", "e\u{301}", "two scalars", "--cache", scratch.cache)
    _ = try await Tool.run("set", "\u{E9}", "one scalar", "--cache", scratch.cache)
    #expect(try await Tool.run("get", "e\u{301}", "--cache", scratch.cache).text == "two scalars")
    #expect(try await Tool.run("get", "\u{E9}", "--cache", scratch.cache).text == "one scalar")
  }

  /// Lengths around page sizes, and one for the value log.
  @Test(arguments: [0, 1, 256, 4096, 100_000, 2 << 20])
  func bytesMakeTheRoundTrip(_ count: Int) async throws {
    let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
    #expect(try await Tool.run("set", "in", "-", "--cache", scratch.cache, input: bytes).status == 0)
    #expect(try await Tool.run("get", "in", "--cache", scratch.cache).output == bytes)
    let file = try scratch.file("value", bytes)
    #expect(try await Tool.run("set", "file", "--file", file, "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("get", "file", "--cache", scratch.cache).output == bytes)
    #expect(try await Tool.run("get", "file", "--raw", "--cache", scratch.cache).output == bytes)
  }

  @Test func theFormatCanBeChosen() async throws {
    _ = try await Tool.run("set", "a", "text", "--format", "bytes", "--cache", scratch.cache)
    _ = try await Tool.run("set", "b", "-", "--format", "string", "--cache", scratch.cache, input: Data("é".utf8))
    let entries: [ListedEntry] = try await Tool.run("ls", "--json", "--cache", scratch.cache).json()
    #expect(entries.map(\.format) == ["bytes", "string"])
    let wrong = try await Tool.run(
      "set", "c", "-", "--format", "string", "--cache", scratch.cache, input: Data([0xFF]))
    #expect(wrong.status == 65)
    #expect(wrong.errors.contains("UTF-8"))
  }

  @Test func anEntryExpires() async throws {
    _ = try await Tool.run("set", "soon", "x", "--expires", "0.000001", "--cache", scratch.cache)
    _ = try await Tool.run("set", "later", "x", "--expires", "3600", "--cost", "7", "--cache", scratch.cache)
    #expect(try await Tool.run("get", "soon", "--cache", scratch.cache).status == 1)
    let entries: [ListedEntry] = try await Tool.run("ls", "--json", "--cache", scratch.cache).json()
    let entry = try #require(entries.first)
    #expect(entries.count == 1 && entry.key == "later" && entry.cost == 7 && entry.size == 1)
    let seconds = try #require(entry.expires).timeIntervalSince(entry.created)
    #expect(abs(seconds - 3600) <= 2)
  }

  private struct User: Codable { var name: String, score = 0.5, tags: [String] = ["a\n"] }

  @Test func whatIsStoredInBinaryIsShownAsText() async throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    let identifier = UUID()
    try cache.set(-42, forKey: "integer")
    try cache.set(UInt64.max, forKey: "unsigned")
    try cache.set(0.1, forKey: "double")
    try cache.set(Float(0.5), forKey: "float")
    try cache.set(true, forKey: "bool")
    try cache.set(Date(timeIntervalSince1970: 0.5), forKey: "date")
    try cache.set(identifier, forKey: "uuid")
    try cache.set(URL(string: "https://swift.org/a?b")!, forKey: "url")
    try cache.set([1, -2, 3] as [Int32], forKey: "array")
    try await cache.close()
    for (key, text) in [
      "integer": "-42", "unsigned": "18446744073709551615", "double": "0.1", "float": "0.5", "bool": "true",
      "date": "1970-01-01T00:00:00.500Z", "uuid": identifier.uuidString, "url": "https://swift.org/a?b",
      "array": "[1,-2,3]",
    ] {
      #expect(try await Tool.run("get", key, "--cache", scratch.cache).text == text + "\n")
    }
    let raw = try await Tool.run("get", "array", "--raw", "--cache", scratch.cache).output
    #expect(raw == Data([1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 3, 0, 0, 0]))
  }

  /// Foundation's formatter crashes for these.
  @Test(arguments: [(Double.nan, "nan"), (Double.infinity, "inf"), (-Double.infinity, "-inf"), (1e300, "1e+300")])
  func aDateThatNoCalendarHasIsANumber(_ seconds: Double, _ text: String) async throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    try cache.set(Date(timeIntervalSinceReferenceDate: seconds), forKey: "date")
    try await cache.close()
    let result = try await Tool.run("get", "date", "--cache", scratch.cache)
    #expect(result.status == 0 && result.text == text + "\n", "\(result.errors)")
  }

  @Test func codableValuesAndObjectsAreShownAsStored() async throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    try cache.set(User(name: "Ada"), forKey: "user")
    try cache.set(Array(repeating: "long", count: 400_000), forKey: "long")
    try cache.setObject(NSString("object"), forKey: "object")
    try cache.setObject(NSArray(array: [NSString("a"), NSNumber(value: 1)]), forKey: "list")
    try cache.set([1, 2] as [UInt8], forKey: "bytes")
    let archive = try cache.withBytes(forKey: "object") { $0.withUnsafeBytes { Data($0) } }
    try await cache.close()
    #expect(
      try await Tool.run("get", "user", "--cache", scratch.cache).text
        == #"{"name": "Ada", "tags": ["a\n"], "score": 0.5}"# + "\n")
    let raw = try await Tool.run("get", "user", "--raw", "--cache", scratch.cache).output
    #expect(try CBORDecoder().decode(User.self, from: raw).name == "Ada")
    let cut = try await Tool.run("get", "long", "--cache", scratch.cache)
    #expect(cut.text.count < 1_100_000 && cut.text.hasSuffix("…\n"))
    #expect(cut.status == 0 && cut.errors.contains("--raw"))
    #expect(try await Tool.run("get", "object", "--cache", scratch.cache).output == archive)
    #expect(try await Tool.run("get", "list", "--cache", scratch.cache).text == #"{"root": ["a", 1]}"# + "\n")
    #expect(try await Tool.run("get", "bytes", "--cache", scratch.cache).output == Data([1, 2]))
  }

  @Test func archivesOfFoundationAreShown() async throws {
    var configuration = CacheConfiguration()
    configuration.objectCoding.archiving = .keyedArchive
    let cache = try LMDBCache(
      directory: URL(fileURLWithPath: scratch.cache), configuration: configuration.withoutMemory)
    try cache.setObject(NSArray(array: [NSString("a"), NSDictionary(dictionary: ["b": 1])]), forKey: "list")
    let archive = try #require(try cache.withBytes(forKey: "list") { $0.withUnsafeBytes { Data($0) } })
    try await cache.close()
    #expect(try await Tool.run("get", "list", "--cache", scratch.cache).text == #"["a", {"b": 1}]"# + "\n")
    #expect(try await Tool.run("get", "list", "--raw", "--cache", scratch.cache).output == archive)
  }

  @Test func whatIsNoTextIsNotWrittenToATerminal() async throws {
    let values = ["bytes": Data([0xFF, 0]), "screen": Data("\u{1B}[2J".utf8), "text": Data("text\n\tÄ".utf8)]
    for (key, value) in values {
      _ = try await Tool.run("set", key, "-", "--cache", scratch.cache, input: value)
    }
    for key in ["bytes", "screen"] {
      let refused = try await Tool.runOnTerminal("get", key, "--cache", scratch.cache)
      #expect(refused.status == 65 && refused.output.isEmpty && refused.errors.contains("--raw"))
      #expect(try await Tool.run("get", key, "--cache", scratch.cache).output == values[key])
      let told = try await Tool.runOnTerminal("get", key, "--raw", "--cache", scratch.cache)
      #expect(told.status == 0 && told.output == values[key])
    }
    let text = try await Tool.runOnTerminal("get", "text", "--cache", scratch.cache)
    #expect(text.status == 0 && text.text == "text\r\n\tÄ")
  }

  @Test func aMissingKeyIsOneAndSaysSo() async throws {
    _ = try await Tool.run("set", "keys", "x", "--cache", scratch.cache)
    let get = try await Tool.run("get", "key", "--cache", scratch.cache)
    #expect(get.status == 1)
    #expect(get.output.isEmpty)
    #expect(get.errors.contains("key"))
  }

  @Test func severalKeysAreRemovedAtOnce() async throws {
    for key in ["a", "b", "c"] { _ = try await Tool.run("set", key, key, "--cache", scratch.cache) }
    let removed = try await Tool.run("rm", "a", "nope", "c", "--cache", scratch.cache)
    #expect(removed.status == 1)
    #expect(removed.output.isEmpty)
    #expect(removed.errors.contains("nope"))
    #expect(try await Tool.run("ls", "-q", "--cache", scratch.cache).text == "b\n")
  }

  @Test func aTagIsRemoved() async throws {
    for (key, tags) in [("a", ["--tag", "news", "--tag", "x"]), ("b", ["--tag", "x"]), ("c", [])] {
      let set = try await Tool.run(["set", key, key, "--cache", scratch.cache] + tags)
      #expect(set.status == 0)
    }
    #expect(try await Tool.run("rm", "--tag", "news", "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("ls", "-q", "--cache", scratch.cache).text == "b\nc\n")
    let again = try await Tool.run("rm", "--tag", "news", "--cache", scratch.cache)
    #expect(again.status == 1 && again.errors.contains("news"))
  }

  @Test func aPrefixIsRemoved() async throws {
    for key in ["user:1", "user:2", "users", "post:1"] {
      _ = try await Tool.run("set", key, key, "--cache", scratch.cache)
    }
    #expect(try await Tool.run("rm", "--prefix", "user:", "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("ls", "-q", "--cache", scratch.cache).text == "post:1\nusers\n")
    #expect(try await Tool.run("rm", "--prefix", "user:", "--cache", scratch.cache).status == 1)
  }
}
