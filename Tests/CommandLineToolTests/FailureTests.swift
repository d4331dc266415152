import Foundation
import LMDBCaching
import Testing

/// Exit statuses of commands that fail.
@Suite struct FailureTests {
  let scratch = try! Scratch()

  @Test func withoutACacheIs66AndMakesNothing() async throws {
    for command in [
      "get key", "rm key", "rm --prefix k", "ls", "stat", "trim --count 1", "clear", "export", "verify", "top", "watch",
      "serve", "backup @backup", "restore @backup", "replay @nope --format text", "set key --file @nope",
      "top --cache @.",
      "top --cache /dev/null/", "top --cache /",
    ] { try await scratch.expect("$66 \(command)\n/") }
    try FileManager.default.createDirectory(atPath: scratch.cache, withIntermediateDirectories: false)
    for command in ["get key", "stat", "clear"] { try await scratch.expect("$66 \(command)") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.cache).isEmpty)
  }

  @Test(arguments: [
    "nope", "get", "get key", "get --cache ./x", "set key --cache ./x", "set key v --file f --cache ./x",
    "set key v --expires -1 --cache ./x", "set key v --expires nan --cache ./x", "rm --cache ./x",
    "rm --prefix '' --cache ./x", "rm a --prefix b --cache ./x", "rm a --tag b --cache ./x",
    "rm --tag a --prefix b --cache ./x", "ls -q --json --cache ./x", "trim --cache ./x",
    "trim --count -1 --cache ./x", "replay file", "replay file --format csv", "replay - --format text --threads 0",
    "get key --cache ''", "import x --from y --cache ./x", "import x --from files",
    "import x --from mmkv --types a --cache ./x", "import x --from mmkv --types a=text --cache ./x",
    "import x --from files --types a=bool --cache ./x", "verify ./x --cache ./x", "stat --depth 2 --cache ./x",
    "stat --top 2 --cache ./x", "stat --prefixes --depth 0 --cache ./x", "stat --prefixes --top 0 --cache ./x",
    "top --interval=0 --cache ./x", "top --interval=-1 --cache ./x", "top --interval=nan --cache ./x",
    "top --interval=inf --cache ./x", "top --interval=1e9 --cache ./x", "top --interval=x --cache ./x",
  ])
  func wrongUsageIs64(_ command: String) async throws { try await scratch.expect("$$64 \(command)") }

  @Test(arguments: ["replay", "get", "set", "rm", "ls", "stat", "trim", "clear", "verify", "import"])
  func everyCommandExplainsItself(_ command: String) async throws {
    try await scratch.expect("$$ \(command) --help\n!\n~ Example\n~ lmdb-cache \(command) \n~ Exit codes:")
  }

  /// The name would clear the screen and write its own line.
  @Test(arguments: [["get", "key", "--cache"], ["verify"], ["import", "--cache", "./x"]])
  func whatIsQuotedInMessagesIsEscaped(_ words: [String]) async throws {
    let result = try await Tool.run(words + [scratch.path("a\u{1B}[2J\nlmdb-cache: fake")])
    #expect(result.status == 66 && result.output.isEmpty)
    #expect(!result.errors.utf8.contains(0x1B) && result.errors.contains("fake"), "\(result.errors)")
    let messages = result.errors.split(separator: "\n").filter { $0.hasPrefix("lmdb-cache: ") }
    #expect(messages.count == 1, "\(messages)")
    let usage = try await scratch.run("get", "key", "--\u{1B}[2J")
    #expect(usage.status == 64 && !usage.errors.isEmpty && !usage.errors.utf8.contains(0x1B), "\(usage.errors)")
  }

  @Test func aPlaceThatCannotHoldACacheIs73() async throws {
    let file = try scratch.file("file", Data())
    try await scratch.expect("$$73 set key value --cache @file\n! lmdb-cache: \n! \(file)")
    for path in ["/proc/x", "/proc/x/y/z"] {
      try await scratch.expect("$$73 set key value --cache \(path)\n! /proc/x\n$$66 get key --cache \(path)")
    }
  }

  @Test(.enabled(if: geteuid() != 0, "the superuser may do everything"))
  func whatIsForbiddenIs77() async throws {
    try await scratch.expect("$ set key value")
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: scratch.cache)
    try await scratch.expect("$77 get key\n$77 set key value")
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: scratch.cache)
  }

  @Test func aFileThatIsNoCacheIs65AndIsKept() async throws {
    let contents = Data(repeating: 0x55, count: 16_384)
    try scratch.file("cache/data.mdb", contents)
    try await scratch.expect("$65 get key\n$65 ls\n$65 stat\n$65 set key value\n$65 clear\n$$65 verify @")
    #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.cache + "/data.mdb")) == contents)
  }
}
