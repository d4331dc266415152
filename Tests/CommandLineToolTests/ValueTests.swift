import CBORCoding
import Foundation
import LMDBCaching
import Testing

/// `set`, `get` and `rm`.
@Suite struct ValueTests {
  let scratch = try! Scratch()

  @Test func valuesAreSetReadAndRemoved() async throws {
    try await scratch.expect(
      """
      $ set greeting hello
      =
      !
      $ get greeting
      = hello
      !
      $1 get greetin
      ! greetin
      $ set e\u{301} 'two scalars'
      $ set \u{E9} 'one scalar'
      $ get e\u{301}
      = two scalars
      $ get \u{E9}
      = one scalar
      $ rm e\u{301}
      $1 rm greeting nope \u{E9}
      ! nope
      $ ls -q
      =
      $ set a a --tag news --tag x
      $ set b b --tag x
      $ set user:1 c
      $ set user:2 d
      $ set users e
      $ rm --tag news
      $1 rm --tag news
      ! news
      $ rm --prefix user:
      $1 rm --prefix user:
      $ ls -q
      > b
      > users
      """)
  }

  @Test(arguments: [
    "two words", "line\nbreak", "tab\tand\\backslash", "日本語 🗝", "e\u{301}", "\u{E9}", "", "- -", "a/b",
    String(repeating: "long", count: 300),
  ])
  func everyKeyIsTakenAsItIs(_ key: String) async throws {
    let set = try await Tool.run("set", "--cache", scratch.cache, "--", key, "value of \(key)")
    #expect(set.status == 0, "\(set.errors)")
    #expect(try await Tool.run("get", "--cache", scratch.cache, "--", key).text == "value of \(key)")
    let quiet = try await Tool.run("ls", "-q", "-0", "--cache", scratch.cache)
    #expect(quiet.output == Data((key + "\0").utf8))
    let json: [ListedEntry] = try await Tool.run("ls", "--json", "--cache", scratch.cache).json()
    #expect(json.map { Array($0.key.utf8) } == [Array(key.utf8)])
    try await scratch.expect("$ ls\n# 2")
    #expect(try await Tool.run("rm", "--cache", scratch.cache, "--", key).status == 0)
    #expect(try await Tool.run("get", "--cache", scratch.cache, "--", key).status == 1)
  }

  /// Lengths around page sizes, and one for the value log.
  @Test(arguments: [0, 1, 256, 4096, 100_000, 2 << 20])
  func bytesMakeTheRoundTrip(_ count: Int) async throws {
    let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
    #expect(try await Tool.run("set", "in", "-", "--cache", scratch.cache, input: bytes).status == 0)
    let file = try scratch.file("value", bytes)
    #expect(try await Tool.run("set", "file", "--file", file, "--cache", scratch.cache).status == 0)
    for words in [["in"], ["file"], ["file", "--raw"]] {
      #expect(try await Tool.run(["get"] + words + ["--cache", scratch.cache]).output == bytes)
    }
  }

  @Test func theFormatAndTheExpiryCanBeChosen() async throws {
    try await scratch.expect(
      """
      $ set a text --format bytes
      $ set b - --format string < é
      $ set later x --expires 3600 --cost 7
      $ set soon x --expires 0.000001
      $1 get soon
      """)
    let entries: [ListedEntry] = try await Tool.run("ls", "--json", "--cache", scratch.cache).json()
    #expect(entries.map(\.key) == ["a", "b", "later"] && entries.map(\.format) == ["bytes", "string", "string"])
    #expect(entries[2].cost == 7 && entries[2].size == 1)
    let seconds = try #require(entries[2].expires).timeIntervalSince(entries[2].created)
    #expect(abs(seconds - 3600) <= 2)
    let wrong = try await Tool.run("set", "c", "-", "--format", "string", "--cache", scratch.cache, input: Data([0xFF]))
    #expect(wrong.status == 65 && wrong.errors.contains("UTF-8"))
  }

  private struct User: Codable { var name: String, score = 0.5, tags: [String] = ["a\n"] }

  @Test func whatIsStoredInBinaryIsShownAsText() async throws {
    let identifier = UUID()
    try scratch.fill { cache in
      try cache.set(-42, forKey: "integer")
      try cache.set(UInt64.max, forKey: "unsigned")
      try cache.set(0.1, forKey: "double")
      try cache.set(Float(0.5), forKey: "float")
      try cache.set(true, forKey: "bool")
      try cache.set(Date(timeIntervalSince1970: 0.5), forKey: "date")
      try cache.set(identifier, forKey: "uuid")
      try cache.set(URL(string: "https://swift.org/a?b")!, forKey: "url")
      try cache.set([1, -2, 3] as [Int32], forKey: "array")
      try cache.set([1, 2] as [UInt8], forKey: "bytes")
      try cache.set(User(name: "Ada"), forKey: "user")
      try cache.setObject(NSArray(array: [NSString("a"), NSNumber(value: 1)]), forKey: "list")
      // Foundation's formatter crashes for these.
      for date in [Double.nan, .infinity, -.infinity, 1e300] {
        try cache.set(Date(timeIntervalSinceReferenceDate: date), forKey: "\(date)")
      }
    }
    for (key, text) in [
      "integer": "-42", "unsigned": "18446744073709551615", "double": "0.1", "float": "0.5", "bool": "true",
      "date": "1970-01-01T00:00:00.500Z", "uuid": identifier.uuidString, "url": "https://swift.org/a?b",
      "array": "[1,-2,3]", "user": #"{"name": "Ada", "tags": ["a\n"], "score": 0.5}"#, "list": #"{"root": ["a", 1]}"#,
      "nan": "nan", "inf": "inf", "-inf": "-inf", "1e+300": "1e+300",
    ] {
      let result = try await Tool.run("get", "--cache", scratch.cache, "--", key)
      #expect(result.status == 0 && result.text == text + "\n", "\(key): \(result.text) \(result.errors)")
    }
    #expect(try await Tool.run("get", "bytes", "--cache", scratch.cache).output == Data([1, 2]))
    let raw = try await Tool.run("get", "array", "--raw", "--cache", scratch.cache).output
    #expect(raw == Data([1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 3, 0, 0, 0]))
    let user = try await Tool.run("get", "user", "--raw", "--cache", scratch.cache).output
    #expect(try CBORDecoder().decode(User.self, from: user).name == "Ada")
  }

  @Test func longValuesAndArchivesAreShown() async throws {
    var configuration = CacheConfiguration()
    configuration.objectCoding.archiving = .keyedArchive
    var archive: Data?
    try scratch.fill(configuration) { cache in
      try cache.set(Array(repeating: "long", count: 400_000), forKey: "long")
      try cache.setObject(NSArray(array: [NSString("a"), NSDictionary(dictionary: ["b": 1])]), forKey: "list")
      archive = try cache.withBytes(forKey: "list") { $0.withUnsafeBytes { Data($0) } }
    }
    let cut = try await Tool.run("get", "long", "--cache", scratch.cache)
    #expect(cut.text.count < 1_100_000 && cut.text.hasSuffix("…\n"))
    #expect(cut.status == 0 && cut.errors.contains("--raw"))
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
}
