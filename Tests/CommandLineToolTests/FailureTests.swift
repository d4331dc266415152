import Foundation
import LMDBCaching
import Testing

@Suite struct FailureTests {
  let scratch = try! Scratch()

  @Test(arguments: [
    ["get", "key"], ["rm", "key"], ["rm", "--prefix", "k"], ["ls"], ["stat"], ["trim", "--count", "1"], ["clear"],
  ])
  func onlySetAndReplayCreateACache(_ command: [String]) async throws {
    let result = try await run(command + ["--cache", scratch.cache])
    #expect(result.status == 66)
    #expect(result.output.isEmpty)
    #expect(result.errors.contains("no cache") && result.errors.contains(scratch.cache))
    #expect(try scratch.names.isEmpty)
  }

  @Test(arguments: [["get", "key"], ["stat"], ["clear"]])
  func aDirectoryWithoutACacheIsLeftAlone(_ command: [String]) async throws {
    try FileManager.default.createDirectory(atPath: scratch.cache, withIntermediateDirectories: false)
    #expect(try await run(command + ["--cache", scratch.cache]).status == 66)
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.cache).isEmpty)
  }

  @Test(arguments: [
    [], ["nope"], ["get"], ["get", "key"], ["get", "--cache", "./x"], ["set", "key", "--cache", "./x"],
    ["set", "key", "v", "--file", "f", "--cache", "./x"], ["set", "key", "v", "--expires", "-1", "--cache", "./x"],
    ["set", "key", "v", "--expires", "nan", "--cache", "./x"], ["rm", "--cache", "./x"],
    ["rm", "--prefix", "", "--cache", "./x"], ["rm", "a", "--prefix", "b", "--cache", "./x"],
    ["rm", "a", "--tag", "b", "--cache", "./x"], ["rm", "--tag", "a", "--prefix", "b", "--cache", "./x"],
    ["ls", "-q", "--json", "--cache", "./x"], ["trim", "--cache", "./x"], ["trim", "--count", "-1", "--cache", "./x"],
    ["replay", "file"], ["replay", "file", "--format", "csv"], ["replay", "-", "--format", "text", "--threads", "0"],
    ["get", "key", "--cache", ""], ["import", "x", "--from", "y", "--cache", "./x"],
    ["import", "x", "--from", "files"], ["import", "x", "--from", "mmkv", "--types", "a", "--cache", "./x"],
    ["import", "x", "--from", "mmkv", "--types", "a=text", "--cache", "./x"],
    ["import", "x", "--from", "files", "--types", "a=bool", "--cache", "./x"],
    ["verify", "./x", "--cache", "./x"], ["stat", "--depth", "2", "--cache", "./x"],
    ["stat", "--top", "2", "--cache", "./x"],
    ["stat", "--prefixes", "--depth", "0", "--cache", "./x"], ["stat", "--prefixes", "--top", "0", "--cache", "./x"],
  ])
  func wrongUsageIs64(_ arguments: [String]) async throws {
    let result = try await run(arguments)
    // Without arguments, the tool prints its help.
    #expect(result.status == (arguments.isEmpty ? 0 : 64))
    #expect(result.output.isEmpty == !arguments.isEmpty)
  }

  @Test(arguments: [
    "replay", "get", "set", "rm", "ls", "stat", "trim", "clear", "verify", "import",
  ])
  func everyCommandExplainsItself(_ command: String) async throws {
    let help = try await run([command, "--help"])
    #expect(help.status == 0)
    #expect(help.errors == "")
    #expect(help.text.contains("Example") && help.text.contains("lmdb-cache \(command) "))
    #expect(help.text.contains("Exit codes:"))
  }

  /// The name would clear the screen and write its own line.
  @Test(arguments: [["get", "key", "--cache"], ["verify"], ["import", "--cache", "./x"]])
  func whatIsQuotedInMessagesIsEscaped(_ words: [String]) async throws {
    let result = try await run(words + [scratch.path("a\u{1B}[2J\nlmdb-cache: fake")])
    #expect(result.status == 66 && result.output.isEmpty)
    #expect(!result.errors.utf8.contains(0x1B) && result.errors.contains("fake"), "\(result.errors)")
    let messages = result.errors.split(separator: "\n").filter { $0.hasPrefix("lmdb-cache: ") }
    #expect(messages.count == 1, "\(messages)")
  }

  @Test func whatIsQuotedOfWrongUsageIsEscaped() async throws {
    let result = try await run(["get", "key", "--cache", "./x", "--\u{1B}[2J"])
    #expect(result.status == 64 && !result.errors.isEmpty && !result.errors.utf8.contains(0x1B), "\(result.errors)")
  }

  @Test func inputThatIsNotThereIs66() async throws {
    let replay = try await run(["replay", scratch.path("nope"), "--format", "text", "--cache", scratch.cache])
    #expect(replay.status == 66)
    #expect(replay.errors.contains("No such file"))
    let set = try await run(["set", "key", "--file", scratch.path("nope"), "--cache", scratch.cache])
    #expect(set.status == 66)
    #expect(try scratch.names.isEmpty)
  }

  @Test func aPlaceThatCannotHoldACacheIs73() async throws {
    let file = try scratch.file("file", Data())
    let result = try await run(["set", "key", "value", "--cache", file])
    #expect(result.status == 73)
    #expect(result.errors.hasPrefix("lmdb-cache: ") && result.errors.contains(file))
  }

  @Test(arguments: ["/proc/x", "/proc/x/y/z"]) func aPlaceBelowWhichNothingCanBeMadeIs73(_ path: String) async throws {
    let result = try await run(["set", "key", "value", "--cache", path])
    #expect(result.status == 73)
    #expect(result.errors.contains("/proc/x"))
    #expect(try await run(["get", "key", "--cache", path]).status == 66)
  }

  @Test(.enabled(if: geteuid() != 0, "the superuser may do everything"))
  func whatIsForbiddenIs77() async throws {
    #expect(try await run(["set", "key", "value", "--cache", scratch.cache]).status == 0)
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: scratch.cache)
    #expect(try await run(["get", "key", "--cache", scratch.cache]).status == 77)
    #expect(try await run(["set", "key", "value", "--cache", scratch.cache]).status == 77)
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: scratch.cache)
  }

  @Test func aFileThatIsNoCacheIs65AndIsKept() async throws {
    try FileManager.default.createDirectory(atPath: scratch.cache, withIntermediateDirectories: false)
    let contents = Data(repeating: 0x55, count: 16_384)
    try contents.write(to: URL(fileURLWithPath: scratch.cache + "/data.mdb"))
    for words in [["get", "key"], ["ls"], ["stat"], ["set", "key", "value"], ["clear"]] {
      #expect(try await run(words + ["--cache", scratch.cache]).status == 65)
    }
    #expect(try await run(["verify", scratch.cache]).status == 65)
    #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.cache + "/data.mdb")) == contents)
  }

  private func run(_ arguments: [String]) async throws -> ToolResult {
    try await Tool.run(arguments)
  }
}
