import Foundation
import LMDBCaching
import Testing

/// `import` from other caches. `LMDBCachingImportTests` tries the contents of each source.
@Suite struct ImportTests {
  let scratch = try! Scratch()

  private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("LMDBCachingImportTests/Fixtures/yycache").path

  private func write(_ texts: [String: String]) throws {
    for (name, text) in texts {
      let url = URL(fileURLWithPath: scratch.path("files/" + name))
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: url)
    }
  }

  @Test func aYYCacheIsImported() async throws {
    try await scratch.expect(
      """
      $ import \(Self.fixture) --from yycache --json
      { taken=212 examined=212 isComplete=true isDryRun=false refused=0
      $ get int
      > 1042
      $ get bulk-199
      = value 199
      $ get dictionary
      ~ 1815
      $ import \(Self.fixture) --from yycache
      !
      | taken 0
      | already there 212
      """)
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
      $ import @files --from files --json --prefix f:
      { present=2
      $ get f:a
      = 1
      $ import @files --from files --json --prefix f: --overwrite
      { taken=2
      $ get f:a
      = 3
      $ import @files --from files --json --prefix f: --dry-run
      { present=2
      """)
  }

  @Test func userDefaultsAndAPINCacheAreImported() async throws {
    let values = try PropertyListSerialization.data(fromPropertyList: ["theme": "dark"], format: .xml, options: 0)
    _ = try scratch.file("settings.plist", values)
    let folder = "com.pinterest.PINDiskCache.images"
    try FileManager.default.createDirectory(atPath: scratch.path(folder), withIntermediateDirectories: false)
    let archive = try NSKeyedArchiver.archivedData(withRootObject: NSNumber(value: 7), requiringSecureCoding: false)
    _ = try scratch.file(folder + "/a%2Fb", archive)
    try await scratch.expect(
      """
      $ import @settings.plist --from userdefaults
      $ get theme
      = dark
      $ import @\(folder) --from pincache
      $ get a/b
      > 7
      """)
    #if os(Linux)
      try await scratch.expect(
        "$ import settings --from userdefaults --json\n{ present=1", environment: ["XDG_CONFIG_HOME": scratch.url.path])
    #endif
  }

  @Test func mmkvHasTypes() async throws {
    // A four-byte size; "n" with 42, "a,b" with "x", and "raw" with two bytes.
    let contents: [UInt8] = [
      0xFF, 0xFF, 0xFF, 0x07, 1, 0x6E, 1, 42, 3, 0x61, 0x2C, 0x62, 2, 1, 0x78, 3, 0x72, 0x61, 0x77, 2, 7, 8,
    ]
    var sum = ~UInt32(0)
    for byte in contents {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    func word(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
    _ = try scratch.file("mmkv.default", Data(word(UInt32(contents.count)) + contents))
    _ = try scratch.file(
      "mmkv.default.crc",
      Data(word(~sum) + word(3) + word(1) + [UInt8](repeating: 0, count: 16) + word(UInt32(contents.count))))
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
    if format == "yycache" { try write(["manifest.sqlite": "no database"]) } else { try write(["x": "x"]) }
    try await scratch.expect("$65 import @files\(format == "yycache" ? "" : "/x") --from \(format)\n/ files")
  }

  @Test func whatIsRefusedIsListed() async throws {
    try write(["a": "1"])
    // The name would clear the screen and write its own line.
    try FileManager.default.createSymbolicLink(
      atPath: scratch.path("files/a\u{1B}[2J\nfake"), withDestinationPath: "/etc/passwd")
    let links = try await Tool.run("import", scratch.path("files"), "--from", "files", "--cache", scratch.cache)
    #expect(links.status == 0 && links.text.contains("symbolic link"))
    let text = links.text + links.errors
    #expect(!text.utf8.contains(0x1B) && !text.split(separator: "\n").contains { $0.hasPrefix("fake") }, "\(text)")
    try await scratch.expect(
      "$ import @files --from files --json\n{ present=1 refused=1 notAFile=1 reason=\"notAFile\"")
    try write([(0..<80).map { "d\($0)/" }.joined() + "b": "2"])
    try await scratch.expect("$65 import @files --from files --json\n{ present=1 unreadable=1")
    // An entry of the manifest must not be imported over a link.
    let store = scratch.path("store")
    try FileManager.default.copyItem(atPath: Self.fixture, toPath: store)
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: store + "/data").first)
    try FileManager.default.moveItem(atPath: store + "/data/" + name, toPath: scratch.path("moved"))
    try FileManager.default.createSymbolicLink(
      atPath: store + "/data/" + name, withDestinationPath: scratch.path("moved"))
    try await scratch.expect("$65 import @store --from yycache --json\n{ taken=211 refused=1 unreadable=1")
  }

  @Test func anInterruptedImportGoesOn() async throws {
    for number in 0..<40 {
      for file in 0..<100 { try write(["\(number)/\(file)": String(repeating: "\(file)", count: 2_000)]) }
    }
    let started = scratch.cache + "/data.mdb"
    let arguments = ["import", scratch.path("files"), "--from", "files", "--json", "--cache", scratch.cache]
    let result = try await Tool.run(arguments) { process in await interrupt(process, onceThereIs: started) }
    let first: ImportSummary = try result.json()
    // The import may have finished before the signal.
    if result.status == 130 {
      #expect(!first.isComplete && first.taken < 4_000 && result.errors.contains("run the same command again"))
    } else {
      #expect(result.status == 0 && first.isComplete)
    }
    let second: ImportSummary = try await Tool.run(arguments).json()
    #expect(second.isComplete && second.present == first.taken && second.taken + second.present == 4_000)
  }

  @Test func aTerminalHasABar() async throws {
    let result = try await Tool.runWithErrorsOnTerminal(
      "import", Self.fixture, "--from", "yycache", "--json", "--cache", scratch.cache)
    #expect(result.status == 0 && result.errors.contains("212 of 212"))
    #expect(try result.json(as: ImportSummary.self).taken == 212)
  }
}

/// Interrupts a process once a file exists. A separate thread avoids waiting for the task pool.
func interrupt(_ process: pid_t, onceThereIs path: String) async {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      while !FileManager.default.fileExists(atPath: path) { sched_yield() }
      kill(process, SIGINT)
      continuation.resume()
    }
  }
}
