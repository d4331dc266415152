import Foundation
import TestSupport
import Testing

/// `import` from other caches. `LMDBCachingImportTests` tries the contents of each source.
@Suite(.ownThreads) struct ImportTests {
  let scratch = try! Scratch()

  static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("LMDBCachingImportTests/Fixtures/yycache").path

  private func write(_ texts: [String: String]) throws {
    for (name, text) in texts { try scratch.file("files/" + name, Data(text.utf8)) }
  }

  @Test func everySourceIsImported() async throws {
    let values = try PropertyListSerialization.data(fromPropertyList: ["theme": "dark"], format: .xml, options: 0)
    try scratch.file("settings.plist", values)
    let archive = try NSKeyedArchiver.archivedData(withRootObject: NSNumber(value: 7), requiringSecureCoding: false)
    try scratch.file("com.pinterest.PINDiskCache.images/a%2Fb", archive)
    try await scratch.expect(
      """
      $ import \(Self.fixture) --from yycache --json
      { taken=212 examined=212 isComplete=true isDryRun=false refused=0
      $ get dictionary
      ~ 1815
      $ import \(Self.fixture) --from yycache
      !
      | taken 0
      | already there 212
      $ import @settings.plist --from userdefaults
      $ get theme
      = dark
      $ import @com.pinterest.PINDiskCache.images --from pincache
      $ get a/b
      > 7
      """)
    #if os(Linux)
      try await scratch.expect(
        "$ import settings --from userdefaults --json\n{ present=1", environment: ["XDG_CONFIG_HOME": scratch.url.path])
    #endif
  }

  @Test func filesGetAPrefixAndAreOverwrittenIfAskedFor() async throws {
    try write(["a": "1", "b/c": "2"])
    try await scratch.expect(
      """
      $ import @files --from files --json --dry-run
      { taken=2 isDryRun=true
      / files
      $ import @files --from files --json --prefix f:
      { taken=2
      $ get f:b/c
      = 2
      """)
    try write(["a": "3"])
    try await scratch.expect(
      """
      $ import @files --from files --json --prefix f: --dry-run
      { present=2
      $ import @files --from files --json --prefix f: --overwrite
      { taken=2
      $ get f:a
      = 3
      """)
  }

  @Test func mmkvHasTypes() async throws {
    // A four-byte size; "n" with 42, "a,b" with "x", and "raw" with two bytes.
    let contents: [UInt8] = [
      0xFF, 0xFF, 0xFF, 0x07, 1, 0x6E, 1, 42, 3, 0x61, 0x2C, 0x62, 2, 1, 0x78, 3, 0x72, 0x61, 0x77, 2, 7, 8,
    ]
    // Their CRC-32, version 3, and a sequence of 1.
    let head: [UInt8] = [0xB3, 0x3B, 0xAA, 0x39, 3, 0, 0, 0, 1, 0, 0, 0]
    let size: [UInt8] = [22, 0, 0, 0]
    try scratch.file("mmkv.default", Data(size + contents))
    try scratch.file("mmkv.default.crc", Data(head + [UInt8](repeating: 0, count: 16) + size))
    try await scratch.expect(
      """
      $ import @mmkv.default --from mmkv --types n=int32,a\\,*=string --json
      { taken=3
      $ get n
      > 42
      $ get a,b
      = x
      $ get raw
      = \u{7}\u{8}
      $65 import @mmkv.default --from mmkv --types *=double --overwrite
      ~ n: \n! 3 failed
      """)
  }

  @Test(arguments: ["yycache", "mmkv", "pincache", "files", "userdefaults"])
  func anotherSourceOrNoneMakesNoCache(_ format: String) async throws {
    try await scratch.expect("$66 import @nope --from \(format)\n! nope\n/")
    guard !["pincache", "files"].contains(format) else { return }
    try write([format == "yycache" ? "manifest.sqlite" : "x": "no database"])
    try await scratch.expect("$65 import @files\(format == "yycache" ? "" : "/x") --from \(format)\n/ files")
  }

  @Test func whatIsRefusedIsListed() async throws {
    try write(["a": "1"])
    // The name would clear the screen and write its own line.
    try FileManager.default.createSymbolicLink(
      atPath: scratch.path("files/a\u{1B}[2J\nfake"), withDestinationPath: "/etc/passwd")
    let links = try await scratch.run("import", scratch.path("files"), "--from", "files")
    #expect(links.status == 0 && links.text.contains("symbolic link"))
    let text = links.text + links.errors
    #expect(!text.utf8.contains(0x1B) && !text.split(separator: "\n").contains { $0.hasPrefix("fake") }, "\(text)")
    try await scratch.expect(
      "$ import @files --from files --json\n{ present=1 refused=1 notAFile=1 reason=\"notAFile\"")
    try write([(0..<80).map { "d\($0)/" }.joined() + "b": "2"])
    try await scratch.expect("$65 import @files --from files --json\n{ present=1 unreadable=1")
  }

  @Test func anInterruptedImportGoesOn() async throws {
    for number in 0..<4_000 {
      try write(["\(number / 100)/\(number % 100)": String(repeating: "\(number % 100)", count: 2_000)])
    }
    struct Summary: Decodable {
      let taken, present: Int
      let isComplete: Bool
    }
    let arguments = ["import", scratch.path("files"), "--from", "files", "--json", "--cache", scratch.cache]
    let result = try await Tool.run(arguments) { await Tool.interrupt($0, onceThereIs: scratch.cache + "/data.mdb") }
    let first: Summary = try result.json()
    // The import may have finished before the signal.
    if result.status == 130 {
      #expect(!first.isComplete && first.taken < 4_000 && result.errors.contains("run the same command again"))
    } else {
      #expect(result.status == 0 && first.isComplete)
    }
    let second: Summary = try await Tool.run(arguments).json()
    #expect(second.isComplete && second.present == first.taken && second.taken + second.present == 4_000)
  }

  @Test func anImportHasABar() throws {
    let session = try TerminalSession(
      ["import", Self.fixture, "--from", "yycache", "--json", "--cache", scratch.cache], showsErrors: true)
    #expect(session.end() == .exit(0))
    #expect(session.text.contains("212 of 212") && session.other.contains(#""taken""#))
  }
}
