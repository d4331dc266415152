import Foundation
import LMDBCaching
import Testing

@Suite struct ImportTests {
  let scratch = try! Scratch()

  private static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("LMDBCachingImportTests/Fixtures/yycache").path

  private func summary(_ arguments: String..., status: Int32 = 0) async throws -> ImportSummary {
    let result = try await Tool.run(["import"] + arguments + ["--json", "--cache", scratch.cache])
    #expect(result.status == status, "\(result.errors)")
    return try result.json()
  }

  private func get(_ key: String) async throws -> String {
    try await Tool.run("get", key, "--cache", scratch.cache).text
  }

  private func files(_ texts: [String: String]) throws -> String {
    for (name, text) in texts {
      let url = URL(fileURLWithPath: scratch.path("files/" + name))
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: url)
    }
    return scratch.path("files")
  }

  @Test func aYYCacheIsImported() async throws {
    let first = try await summary(Self.fixture, "--from", "yycache")
    #expect(first.taken == 212 && first.examined == 212 && first.isComplete && !first.isDryRun && first.refused == 0)
    #expect(try await get("int") == "1042\n")
    #expect(try await get("bulk-199") == "value 199")
    #expect(try await get("dictionary").contains("1815"))
    let second = try await summary(Self.fixture, "--from", "yycache")
    #expect(second.taken == 0 && second.present == 212)
  }

  @Test func theTableSaysWhatWasDone() async throws {
    let result = try await Tool.run("import", Self.fixture, "--from", "yycache", "--cache", scratch.cache)
    #expect(result.status == 0 && result.errors == "", "no progress bar where there is no terminal")
    #expect(result.text.hasPrefix("taken ") && result.text.contains("212") && result.text.contains("already there"))
  }

  @Test func filesGetAPrefixAndAreOverwrittenIfAskedFor() async throws {
    let path = try files(["a": "1", "b/c": "2"])
    #expect(try await summary(path, "--from", "files", "--prefix", "f:").taken == 2)
    #expect(try await get("f:b/c") == "2")
    _ = try files(["a": "3"])
    #expect(try await summary(path, "--from", "files", "--prefix", "f:").present == 2)
    #expect(try await get("f:a") == "1")
    #expect(try await summary(path, "--from", "files", "--prefix", "f:", "--overwrite").taken == 2)
    #expect(try await get("f:a") == "3")
  }

  @Test func aDryRunMakesNoCache() async throws {
    let path = try files(["a": "1"])
    let dry = try await summary(path, "--from", "files", "--dry-run")
    #expect(dry.taken == 1 && dry.isDryRun)
    #expect(try scratch.names == ["files"])
    #expect(try await summary(path, "--from", "files").taken == 1)
    #expect(try await summary(path, "--from", "files", "--dry-run").present == 1)
  }

  @Test func userDefaultsAreFoundByNameAndByPath() async throws {
    let values = try PropertyListSerialization.data(fromPropertyList: ["theme": "dark"], format: .xml, options: 0)
    let path = try scratch.file("settings.plist", values)
    #expect(try await summary(path, "--from", "userdefaults").taken == 1)
    #expect(try await get("theme") == "dark")
    #if os(Linux)
      let result = try await Tool.run(
        ["import", "settings", "--from", "userdefaults", "--json", "--cache", scratch.cache],
        environment: ["XDG_CONFIG_HOME": scratch.url.path])
      #expect(try result.json(as: ImportSummary.self).present == 1)
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
    let path = try scratch.file("mmkv.default", Data(word(UInt32(contents.count)) + contents))
    _ = try scratch.file(
      "mmkv.default.crc",
      Data(word(~sum) + word(3) + word(1) + [UInt8](repeating: 0, count: 16) + word(UInt32(contents.count))))
    let report = try await summary(path, "--from", "mmkv", "--types", #"n=int32,a\,*=string"#)
    #expect(report.taken == 3)
    #expect(try await get("n") == "42\n")
    #expect(try await get("a,b") == "x")
    #expect(try await Tool.run("get", "raw", "--cache", scratch.cache).output == Data([7, 8]))
    let wrong = try await Tool.run(
      "import", path, "--from", "mmkv", "--types", "*=double", "--overwrite", "--cache", scratch.cache)
    #expect(wrong.status == 65 && wrong.text.contains("n: ") && wrong.errors.contains("3 failed"))
  }

  @Test func aPINCacheIsImported() async throws {
    let archive = try NSKeyedArchiver.archivedData(withRootObject: NSNumber(value: 7), requiringSecureCoding: false)
    let folder = scratch.path("com.pinterest.PINDiskCache.images")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try archive.write(to: URL(fileURLWithPath: folder + "/a%2Fb"))
    #expect(try await summary(folder, "--from", "pincache").taken == 1)
    #expect(try await get("a/b") == "7\n")
  }

  @Test(arguments: ["yycache", "mmkv", "pincache", "files", "userdefaults"])
  func whatIsNotThereIs66AndMakesNoCache(_ format: String) async throws {
    let result = try await Tool.run(
      "import", scratch.path("nope"), "--from", format, "--cache", scratch.cache)
    #expect(result.status == 66 && result.errors.contains("nope") && result.output.isEmpty)
    #expect(try scratch.names.isEmpty)
  }

  @Test(arguments: ["yycache", "mmkv", "userdefaults"])
  func somethingElseIs65AndMakesNoCache(_ format: String) async throws {
    let path =
      format == "yycache" ? try files(["manifest.sqlite": "no database"]) : try scratch.file("x", Data("x".utf8))
    let names = try scratch.names
    let result = try await Tool.run("import", path, "--from", format, "--cache", scratch.cache)
    #expect(result.status == 65 && result.output.isEmpty)
    #expect(try scratch.names == names)
  }

  @Test func linksAreListedAndAreNoFailure() async throws {
    let path = try files(["a": "1"])
    try FileManager.default.createSymbolicLink(atPath: path + "/link", withDestinationPath: "/etc/passwd")
    let report = try await summary(path, "--from", "files")
    #expect(report.taken == 1 && report.refused == 1 && report.refusalCounts == ["notAFile": 1])
    #expect(report.refusals.first?.key == "link" && report.refusals.first?.message.contains("symbolic link") == true)
  }

  @Test func aDirectoryThatIsTooDeepIsAFailure() async throws {
    let deep = (0..<80).map { "d\($0)/" }.joined()
    let path = try files(["a": "1", deep + "b": "2"])
    let report = try await summary(path, "--from", "files", status: 65)
    #expect(report.taken == 1 && report.refusalCounts == ["unreadable": 1])
  }

  /// The entry is in the manifest, but must not be imported.
  @Test func aLinkInThePlaceOfAValueIsAFailure() async throws {
    let store = scratch.path("store")
    try FileManager.default.copyItem(atPath: Self.fixture, toPath: store)
    let values = store + "/data"
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: values).first)
    try FileManager.default.moveItem(atPath: values + "/" + name, toPath: scratch.path("moved"))
    try FileManager.default.createSymbolicLink(
      atPath: values + "/" + name, withDestinationPath: scratch.path("moved"))
    let report = try await summary(store, "--from", "yycache", status: 65)
    #expect(report.taken == 211 && report.refused == 1 && report.refusalCounts["unreadable"] == 1)
  }

  /// The name would clear the screen and write its own line.
  @Test func namesAreEscapedWhereTheyAreShown() async throws {
    let folder = scratch.path("store")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/a\u{1B}[2J\nfake", withDestinationPath: "/etc/passwd")
    let result = try await Tool.run("import", folder, "--from", "pincache", "--cache", scratch.cache)
    #expect(result.status == 0 && result.text.contains("symbolic link"))
    let text = result.text + result.errors
    #expect(!text.utf8.contains(0x1B), "\(text)")
    #expect(!text.split(separator: "\n").contains { $0.hasPrefix("fake") }, "\(text)")
  }

  @Test func anInterruptedImportGoesOn() async throws {
    for number in 0..<40 {
      for file in 0..<100 { _ = try files(["\(number)/\(file)": String(repeating: "\(file)", count: 2_000)]) }
    }
    let path = scratch.path("files")
    let started = scratch.cache + "/data.mdb"
    let arguments = ["import", path, "--from", "files", "--json", "--cache", scratch.cache]
    let result = try await Tool.run(arguments) { process in
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          while !FileManager.default.fileExists(atPath: started) { sched_yield() }
          kill(process, SIGINT)
          continuation.resume()
        }
      }
    }
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
