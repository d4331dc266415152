import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct BackupTests {
  let scratch = try! Scratch()

  private var backup: String { scratch.path("backup") }

  private func fillLong(_ count: Int) throws {
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    try scratch.fill(configuration) { cache in
      for number in 0..<count {
        let value = Data(repeating: UInt8(number % 251), count: 3_000)
        try cache.set(value, forKey: "key \(1_000_000 + number)", tags: ["a"])
      }
    }
  }

  private func export(_ path: String, _ options: String...) async throws -> String {
    let result = try await Tool.run(["export", "--cache", path] + options)
    #expect(result.status == 0, "\(result.errors)")
    return result.text
  }

  @Test func aBackupIsMadeAndRestored() async throws {
    try fillLong(500)
    let original = try await export(scratch.cache)
    try await scratch.expect(
      "$ backup @backup\n!\n~ 500\n$$ verify --values @backup\n$73 backup @backup\n$64 backup @cache/inside")
    #expect(try await export(backup) == original)
    try await scratch.expect("$ clear\n$ restore @backup\n~ \(scratch.cache).former-1\n/ backup cache cache.former-1")
    #expect(try await export(scratch.cache) == original)
    try await scratch.expect("$ restore @backup --replace\n^ former\n/ backup cache cache.former-1")
    #expect(try await export(scratch.cache) == original)
    let cache = try scratch.open()
    try await scratch.expect("$75 restore @backup\n! open")
    try await cache.close()
    try await scratch.expect("$ restore @backup")
  }

  /// A consistent export of a cache under heavy writes is a snapshot of one moment.
  @Test func othersWriteDuringAnExport() async throws {
    let process = try ChildProcess("CacheTestProcess")
    #expect(process.run("open \(scratch.cache)") == "ok" && process.run("batches a b 1") == "ok")
    process.send("batches a b 1000000")
    var states: Set<String> = []
    let deadline = Date(timeIntervalSinceNow: 120)
    while states.count < 3, Date() < deadline {
      let text = try await export(scratch.cache, "--consistent")
      let numbers = text.matches(of: /"value":(\d+)/).map { String($0.1) }
      try #require(numbers.count == 2 && numbers[0] == numbers[1], "\(text)")
      states.insert(numbers[0])
    }
    #expect(states.count >= 3)
  }

  /// Signals the tool once a new file appears next to the cache. If the tool finishes first, undoes and retries.
  private func ended(by signal: Int32, _ words: String..., undo: () async throws -> Void) async throws
    -> ProcessOutcome.Ending
  {
    for _ in 0..<50 {
      let names = try scratch.names
      let process = try LaunchedProcess(
        Tool.executable, words + ["--cache", scratch.cache], input: .nullDevice, output: .nullDevice,
        errors: .nullDevice)
      _ = try await becomesTrue { try scratch.names != names || process.tryWait() != nil }
      process.signal(signal)
      let ending = await Tool.end(of: process)
      if ending != .exit(0) { return ending }
      try await undo()
    }
    return .exit(0)
  }

  /// An interrupted backup leaves nothing, and an interrupted restoration leaves the cache.
  @Test func anInterruptionLeavesEverything() async throws {
    try fillLong(4_000)
    let making = try await ended(by: SIGINT, "backup", backup) { try scratch.delete("backup") }
    #expect(try making == .exit(130) && scratch.names == ["cache"])
    try await scratch.expect("$ backup @backup\n$ set new value")
    let restoring = try await ended(by: SIGTERM, "restore", backup, "--replace") {
      try await scratch.expect("$ set new value")
    }
    #expect(restoring == .exit(130))
    try await scratch.expect("$ get new\n= value\n$ verify --values")
  }

  @Test func aFullDiskIs74AndLeavesNothing() async throws {
    // More than the limit, in the database, too.
    try fillLong(4_000)
    let result = try await Tool.run(
      ["backup", backup, "--cache", scratch.cache],
      startedBy: ["sh", "-c", "ulimit -f 4096; exec \"$0\" \"$@\""])
    #expect(result.status == 74)
    #expect(try scratch.names == ["cache"])
  }

  @Test func damageIs4() async throws {
    try fillLong(20)
    try scratch.damageLongValue(7)
    try await scratch.expect(
      """
      $4 backup @backup
      ! "key 1000007"
      / cache
      $4 backup @backup --skip-damaged
      ! "key 1000007"
      ^ \u{1B}
      $$ ls -q --cache @backup
      # 19
      $$4 restore @ --cache @backup
      ! "key 1000007"
      ^ \u{1B}
      / backup cache
      """)
  }
}
