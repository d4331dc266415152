import CBORCoding
import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct ExchangeTests {
  let scratch = try! Scratch()

  private func fill(_ records: [EntryRecord]) throws {
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    try scratch.fill(configuration) { cache throws in
      #expect(try cache.take(records, replacing: true).allSatisfy { $0 })
    }
  }

  /// Every field of every entry except its stamp.
  private func contents(_ path: String) throws -> [String] {
    let reader = try #require(try CacheReader(directory: URL(fileURLWithPath: path)))
    var all: [String] = []
    try reader.forEachRecord(selection: .kept, onDamage: { Issue.record($0) }) { record in
      all.append(
        "\(Array(record.key.utf8)) \(record.format.rawValue) \(record.stored.base64EncodedString()) \(record.created) "
          + "\(record.lastAccess) \(record.entry.cost) \(record.expires) \(record.refresh) \(record.kept) "
          + "\(record.revision) \(record.tagHashes) \(record.uses) \(record.isAbsence) \(record.isTransformed)")
      return true
    }
    return all
  }

  @Test(arguments: ["jsonl", "cbor"], [1, 2] as [UInt64])
  func everyEntryComesBackAsItWas(_ format: String, _ seed: UInt64) async throws {
    var random = RandomRecords(seed: seed)
    var records = try random.records()
    // An absence, a value that is kept after its expiry, and one that is not.
    let now = Int64(Date().timeIntervalSince1970) * 1_000_000_000
    let hour: Int64 = 3_600_000_000_000
    for (key, kept) in [("absent", now + hour), ("kept", now + hour), ("over", now - 1)] {
      try records.append(
        EntryRecord(
          key: key, format: .bytes, stored: Data(), created: 1, lastAccess: 1, cost: 1, expires: now - hour, kept: kept,
          isAbsence: key == "absent"))
    }
    try fill(records)
    let original = try contents(scratch.cache)
    #expect(original.count == 258)
    let (file, copy) = (scratch.path("export"), scratch.path("copy"))
    try await scratch.expect("$ export --format \(format) --output \(file)\n=\n!\n$$ import \(file) --cache \(copy)\n!")
    #expect(try contents(copy) == original)
    // Export again, consistently, and import over a pipe.
    let again = try await Tool.run(["export", "--cache", copy, "--format", format, "--consistent"])
    #expect(try again.status == 0 && again.output == Data(contentsOf: URL(fileURLWithPath: file)), "\(again.errors)")
    let other = scratch.path("other")
    #expect(try await Tool.run(["import", "-", "--cache", other], input: again.output).status == 0)
    #expect(try contents(other) == original)
  }

  private func importing(_ text: String) async throws -> ToolResult {
    try await scratch.run("import", "-", input: Data(text.utf8))
  }

  private let header = #"{"lmdb-cache-export":1}"# + "\n"
  private func line(_ key: String, _ rest: String = "") -> String {
    #"{"key":"\#(key)","format":"string","value":"v","created":1,"cost":1\#(rest)}"# + "\n"
  }
  private func end(_ entries: Int) -> String { #"{"entries":\#(entries)}"# + "\n" }

  @Test func anotherSpellingIsReadAsWell() async throws {
    let text =
      "\t" + #"{ "lmdb-cache-export" : 1 }"# + "\n"
      + #" {"cost":"7","format":"double","value":5,"created":1,"tags":["00000000000000ff"],"key":"\u00e9\ud83d\ude00\/"} "#
      + "\r\n" + #"{"key":"z","format":"double","value":-0,"created":1,"cost":1}"# + "\n"
      + #"{"key":"n","format":"signed integer","value":"-9223372036854775808","created":1,"cost":1}"# + "\n" + end(3)
    let result = try await importing(text)
    #expect(result.status == 0, "\(result.errors)")
    let wrong = try await scratch.run(
      "import", "-", input: Data((header + #"{"key":""#).utf8) + [0xC0, 0x80] + Data("\"}\n".utf8))
    #expect(wrong.status == 65 && wrong.errors.contains("not UTF-8"), "\(wrong.errors)")
    try await scratch.expect("$ get é😀/\n> 5.0\n$ get z\n> -0.0\n$ get n\n> -9223372036854775808")
  }

  /// K begins an entry and its format, V is its value, and E its end.
  @Test(arguments: [
    ("", "cut off"), ("{", "column 2"), ("[]", "column 1"), ("{}", "“key”"), ("\u{1}", "column 1"),
    (#"Kstring","value":"v","created":1,"cost":1"#, "ends too soon"), (#"Kstring","value":"v"#, "ends too soon"),
    (#"{"key":"k","key":"l"}"#, "comes twice"), (#"{"key":1}"#, "“key” is an integer"),
    (#"{"key":{}}"#, "“key”: an object"), (#"Kstrong",VE"#, "“strong”"), (#"Kstring"E"#, "no value"),
    (#"Kstring","value":"v","base64":""E"#, "more than one value"), (#"Kbytes",VE"#, "given as bytes"),
    (#"Kbytes","base64":"!"E"#, "no base64"), (#"Kbool","value":1E"#, "true or false"),
    (#"Kuuid","value":"1"E"#, "no UUID"), (#"Kfloat","value":0.1E"#, "single precision"),
    (#"Kdouble","value":1e999E"#, "too large"), (#"Ksigned integer","value":9223372036854775808E"#, "has to be"),
    (#"Kstring","value":"v","created":-1,"cost":1}"#, "“created” is -1"),
    (#"Kstring","value":"v","created":4294967296,"cost":1}"#, "“created”"),
    (#"Kstring","value":"v","created":1,"cost":-1}"#, "not negative"),
    (#"Kstring","value":"v","created":1,"cost":1,"uses":4}"#, "4 are given"),
    (#"Kstring","value":"v","created":1,"cost":1,"tags":["x"]}"#, "hexadecimal"),
    (#"Kstring","value":"v","created":1,"cost":1,"new":1}"#, "“new” is not known"),
    (#"Kstring","value":"\ud800"E"#, "surrogate"), (#"Kstring","value":"v","created":01,"cost":1}"#, "column"),
    (#"Kstring","value":"v","created":1,"cost":1} x"#, "more than one value"), (#"{"key":[[]]}"#, "“key” is a list"),
    (#"{"entries":2}"#, "another number of entries"),
    (#"{"cost":\#(String(repeating: "1", count: 100))}"#, "“cost”: the number has too many digits"),
    (String(repeating: "[", count: 100_000), "nested more than 512 levels"),
  ])
  func whatIsWrongIsToldWithItsLine(_ bad: String, _ message: String) async throws {
    let bad = bad.replacing("K", with: #"{"key":"k","format":""#).replacing("V", with: #""value":"v""#)
      .replacing("E", with: #","created":1,"cost":1}"#)
    let result = try await importing(header + line("a") + bad + (bad.isEmpty ? "" : "\n" + line("c") + end(3)))
    #expect(result.status == 65)
    #expect(result.errors.contains("line 3") && result.errors.contains(message), "\(result.errors)")
    // Lines before the error are imported, later ones are not.
    try await scratch.expect("$ ls -q\n> a")
  }

  /// Complete records before the cut are imported.
  @Test(arguments: ["jsonl", "cbor"]) func aFileThatIsCutOffIsAnError(_ format: String) async throws {
    try scratch.fill(4)
    let whole = try await scratch.run("export", "--format", format).output
    let original = try contents(scratch.cache)
    for file in (0..<12).map({ whole.prefix(whole.count * $0 / 12) }) + [whole + whole.suffix(1)] {
      let copy = scratch.path("copy \(file.count)")
      let result = try await Tool.run(["import", "-", "--cache", copy], input: file)
      #expect(result.status == 65, "\(file.count) of \(whole.count)")
      let taken = FileManager.default.fileExists(atPath: copy) ? try contents(copy) : []
      #expect(taken == Array(original.prefix(taken.count)))
    }
  }

  /// Impossible lengths must be refused before memory is allocated for them.
  @Test func hostileCBORIsToldWithItsPlace() async throws {
    let header = CBORSequence.encode([(key: "lmdb-cache-export", value: .integer(1))])
    for bytes in [[0x5B, 0x7F], [0xBB, 0xFF], [0xA1, 0x01, 0x02], [0x81]] as [[UInt8]] {
      let result = try await scratch.run(
        "import", "-", input: header + Data(bytes) + Data(repeating: bytes[0], count: 100))
      #expect(result.status == 65 && result.errors.contains("byte \(header.count)"), "\(result.errors)")
    }
  }

  @Test func whatIsThereStaysUnlessItIsToBeReplaced() async throws {
    let text = header + line("a") + line("b") + line("old", #","expires":5"#) + end(3)
    try scratch.file("file", Data(text.utf8))
    try await scratch.expect(
      """
      $ set a mine
      $ import @file --json
      { examined=3 taken=1 present=1 expired=1
      $ get a
      = mine
      $ import @file --json
      { taken=0 present=2
      $ import @file --json --overwrite
      { taken=2 present=0
      $ get a
      = v
      $ import @file --json --prefix p:
      { taken=2
      $ ls -q
      > a
      > b
      > p:a
      > p:b
      """)
  }

  @Test func aHeaderOfSomethingElseMakesNoCache() async throws {
    let newer = #"{"lmdb-cache-export":2}"# + "\n"
    let unknown = #"{"lmdb-cache-export":1,"durability":"great"}"# + "\n"
    for text in ["", "\n", "{}\n", newer, unknown] { #expect(try await importing(text).status == 65, "\(text)") }
    #expect(try scratch.names.isEmpty)
    try await scratch.expect("$65 import /dev/zero\n/\n$66 import @none\n/")
  }

  // MARK: Failures of what is exported, or where to

  /// Damages one value in the value log and two records in the database.
  @Test func whatIsDamagedIsNamedAndTheRestIsWritten() async throws {
    try scratch.fill { cache in
      for number in 0..<9 { try cache.set(Data(repeating: UInt8(number), count: 5_000), forKey: "long \(number)") }
      try cache.set("short", forKey: "short")
      try cache.set("other", forKey: "unreadable")
    }
    try scratch.damageLongValue(4)
    for key in ["short", "unreadable"] {
      try ForgedDatabase.rewrite(scratch.cache, Array(key.utf8)) { record in
        var record = record!
        // A bit of the value, or the version of its layout.
        if key == "short" { record[record.count - 1] ^= 1 } else { record[4] = 0 }
        return record
      }
    }
    for options in [[], ["--consistent"]] as [[String]] {
      let export = try await Tool.run(["export", "--cache", scratch.cache] + options)
      #expect(export.status == 4 && export.text.contains(#"{"entries":8,"unreadable":3}"#))
      for key in ["long 4", "short", "unreadable"] { #expect(export.errors.contains("\"\(key)\""), "\(export.errors)") }
      try scratch.file("file", export.output)
      let copy = scratch.path("copy\(options.count)")
      try await scratch.expect("$$ import @file --cache \(copy)\n! 3 more could not be read")
      #expect(try contents(copy).count == 8)
    }
  }

  @Test func aFileIsThereWhenItIsWholeAndNotBefore() async throws {
    let file = try scratch.file("file", Data("old".utf8))
    try await scratch.expect("$66 export --output @file\n$ set a b --durability full\n$73 export --output @no/file")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "old")
    // The link's target is written.
    try scratch.file("target", Data("old".utf8))
    #expect(symlink("target", scratch.path("link")) == 0)
    try await scratch.expect(
      """
      $ export --output @link
      $74 export --output /dev/full
      ! No space left
      $ export --output @file
      / cache file link target
      $$ import @file --cache @same
      $$ stat --cache @same
      ~ full
      $$ import @file --cache @other --durability ordered
      $$ stat --cache @other
      ~ ordered
      """)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: scratch.path("link")) == "target")
    for path in [file, scratch.path("target")] {
      #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("{"))
    }
  }
}
