import CBORCoding
import Foundation
import LMDBCaching
import TestSupport
import Testing

/// `set`, `get` and `rm`.
@Suite(.ownThreads) struct ValueTests {
  let scratch = try! Scratch()

  @Test func valuesAreSetReadAndRemoved() async throws {
    try await scratch.expect(
      """
      $ set greeting hello
      =
      !
      $ get greeting
      = hello
      $1 get greetin
      ! greetin
      $1 rm greeting nope
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

  @Test func everyKeyIsTakenAsItIs() async throws {
    let keys = [
      "two words", "line\nbreak", "tab\tand\\backslash", "日本語 🗝", "e\u{301}", "\u{E9}", "", "- -", "a/b",
      String(repeating: "long", count: 300),
    ]
    for key in keys {
      let set = try await Tool.run(["set", "--cache", scratch.cache, "--", key, "value of \(key)"])
      #expect(set.status == 0, "\(set.errors)")
    }
    let all = Set(keys.map { Array($0.utf8) })
    let listed: [ListedEntry] = try await scratch.run("ls", "--json").json()
    #expect(listed.count == keys.count && Set(listed.map { Array($0.key.utf8) }) == all)
    let ended = try await scratch.run("ls", "-q", "-0").output
    #expect(Set(ended.split(separator: 0, omittingEmptySubsequences: false).map { Array($0) }) == all)
    try await scratch.expect("$ ls\n# \(keys.count + 1)")
    for key in keys {
      #expect(try await scratch.run("get", last: key).text == "value of \(key)")
      #expect(try await scratch.run("rm", last: key).status == 0)
      #expect(try await scratch.run("get", last: key).status == 1)
    }
  }

  /// The longest goes to the value log.
  @Test func bytesMakeTheRoundTrip() async throws {
    for count in [0, 1, 4096, 2 << 20] {
      let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
      #expect(try await scratch.run("set", "in", "-", input: bytes).status == 0)
      #expect(try await scratch.run("set", "file", "--file", scratch.file("value", bytes)).status == 0)
      for words in [["in"], ["file"], ["file", "--raw"]] {
        #expect(try await Tool.run(["get", "--cache", scratch.cache] + words).output == bytes)
      }
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
    let entries: [ListedEntry] = try await scratch.run("ls", "--json").json()
    try #require(entries.map(\.key) == ["a", "b", "later"] && entries.map(\.format) == ["bytes", "string", "string"])
    #expect(entries[2].cost == 7 && entries[2].size == 1)
    let seconds = try #require(entries[2].expires).timeIntervalSince(entries[2].created)
    #expect(abs(seconds - 3600) <= 2)
    let wrong = try await scratch.run("set", "c", "-", "--format", "string", input: Data([0xFF]))
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
      let result = try await scratch.run("get", last: key)
      #expect(result.status == 0 && result.text == text + "\n", "\(key): \(result.text) \(result.errors)")
    }
    #expect(try await scratch.run("get", "bytes").output == Data([1, 2]))
    let user = try await scratch.run("get", "user", "--raw").output
    #expect(try CBORDecoder().decode(User.self, from: user).name == "Ada")
  }

  @Test func longValuesAndArchivesAreShown() async throws {
    var configuration = CacheConfiguration()
    configuration.objectCoding.archiving = .keyedArchive
    try scratch.fill(configuration) { cache in
      try cache.set(Array(repeating: "long", count: 400_000), forKey: "long")
      try cache.setObject(NSArray(array: [NSString("a"), NSDictionary(dictionary: ["b": 1])]), forKey: "list")
    }
    let cut = try await scratch.run("get", "long")
    #expect(cut.text.count < 1_100_000 && cut.text.hasSuffix("…\n"))
    #expect(cut.status == 0 && cut.errors.contains("--raw"))
    #expect(try await scratch.run("get", "list").text == #"["a", {"b": 1}]"# + "\n")
  }

  @Test func whatIsNoTextIsNotWrittenToATerminal() async throws {
    func shown(_ words: String...) throws -> (ending: ProcessOutcome.Ending?, output: Data, errors: String) {
      let session = try TerminalSession(["get"] + words + ["--cache", scratch.cache])
      return (session.end(), session.output, session.other)
    }
    for (key, value) in ["bytes": Data([0xFF, 0]), "screen": Data("\u{1B}[2J".utf8)] {
      _ = try await scratch.run("set", key, "-", input: value)
      let refused = try shown(key)
      #expect(refused.ending == .exit(65) && refused.output.isEmpty && refused.errors.contains("--raw"))
      #expect(try await scratch.run("get", key).output == value)
      #expect(try shown(key, "--raw").output == value)
    }
    _ = try await scratch.run("set", "text", "-", input: Data("text\n\tÄ".utf8))
    let text = try shown("text")
    #expect(text.ending == .exit(0) && text.output == Data("text\r\n\tÄ".utf8))
  }
}
