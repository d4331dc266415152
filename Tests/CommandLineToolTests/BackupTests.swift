import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct BackupTests {
  let scratch = try! Scratch()

  private var backup: String { scratch.path("backup") }

  private func fill(_ count: Int) throws {
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
    try fill(500)
    let original = try await export(scratch.cache)
    try await scratch.expect(
      "$ backup @backup\n!\n~ 500\n$$ verify --values @backup\n$73 backup @backup\n$64 backup @cache/inside")
    #expect(try await export(backup) == original)
    try await scratch.expect("$ clear\n$ restore @backup\n~ \(scratch.cache).former-1\n/ backup cache cache.former-1")
    #expect(try await export(scratch.cache) == original)
    try await scratch.expect("$ restore @backup --replace\n^ former\n/ backup cache cache.former-1")
    #expect(try await export(scratch.cache) == original)
    let process = try ChildProcess("CacheTestProcess")
    #expect(process.run("open \(scratch.cache)") == "ok")
    try await scratch.expect("$75 restore @backup\n! open")
    #expect(process.run("close") == "ok")
    try await scratch.expect("$ restore @backup")
  }

  /// Each backup or consistent export of a cache under heavy writes is a snapshot of one moment.
  @Test(arguments: [
    ("export", "batches a b 1000000"), ("backup", "batches a b 1000000"), ("backup", "loop p: 40 6000 0"),
    ("backup", "loop p: 40 60 50"),
  ])
  func othersGoOnWriting(_ command: String, _ work: String) async throws {
    let process = try ChildProcess("CacheTestProcess")
    #expect(process.run("open \(scratch.cache)") == "ok")
    #expect(process.run("batches a b 1") == "ok")
    process.send(work)
    // Drain the pipe, or the process would block.
    Thread { while process.readLine() != nil {} }.start()
    var states: Set<String> = []
    let deadline = Date(timeIntervalSinceNow: 120)
    var number = 0
    while states.count < 3, Date() < deadline {
      let text: String
      if command == "backup" {
        number += 1
        let name = "backup\(number)"
        try await scratch.expect("$ backup @\(name)\n!\n$$ verify --values @\(name)")
        text = try await export(scratch.path(name))
      } else {
        text = try await export(scratch.cache, "--consistent")
      }
      let lines = text.split(separator: "\n").filter { $0.contains(#""key""#) }
      let values = lines.map { $0.components(separatedBy: #""created""#)[0] }
      if work.hasPrefix("batches") {
        let numbers = values.compactMap { $0.firstMatch(of: /"value":(\d+)/).map { String($0.1) } }
        #expect(numbers.count == 2 && Set(numbers).count == 1, "\(values)")
      }
      states.insert(values.joined())
    }
    process.signal(SIGKILL)
    #expect(states.count >= 3)
  }

  /// Runs the tool and signals it once a new file appears next to the cache. If it finishes first, undoes and retries.
  private func ended(by signal: Int32, _ arguments: [String], undo: () async throws -> Void) async throws
    -> ProcessOutcome.Ending
  {
    for _ in 0..<50 {
      let names = try scratch.names
      let process = try LaunchedProcess(
        URL(fileURLWithPath: Tool.path), arguments, input: .nullDevice, output: .nullDevice, errors: .nullDevice)
      let deadline = Date(timeIntervalSinceNow: 60)
      while try scratch.names == names, Date() < deadline { try await Task.sleep(for: .microseconds(500)) }
      process.signal(signal)
      let ending = await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: process.wait()) }
      }
      if ending != .exit(0) { return ending }
      try await undo()
    }
    return .exit(0)
  }

  /// A killed backup leaves at most a directory of another name; an interrupted one leaves nothing.
  @Test func aBackupThatIsEndedIsNone() async throws {
    try fill(4_000)
    let original = try await export(scratch.cache)
    let making = ["backup", backup, "--cache", scratch.cache]
    func undoBackup() throws { try FileManager.default.removeItem(atPath: backup) }
    #expect(try await ended(by: SIGINT, making, undo: undoBackup) == .exit(130))
    #expect(try scratch.names == ["cache"])
    #expect(try await ended(by: SIGKILL, making, undo: undoBackup) == .signal(SIGKILL))
    let names = try scratch.names
    #expect(names.count == 2 && names[0].hasPrefix(".lmdb-cache-") && names[1] == "cache", "\(names)")
    #expect(try await Tool.run("backup", backup, "--cache", scratch.cache).status == 0)
    #expect(try await export(backup) == original)
    // A restoration leaves the cache unchanged or, if killed at its very end, restored.
    var changed = ""
    func change() async throws {
      #expect(try await Tool.run("set", "new", "value", "--cache", scratch.cache).status == 0)
      changed = try await export(scratch.cache)
    }
    try await change()
    let restoring = ["restore", backup, "--replace", "--cache", scratch.cache]
    for (signal, ending) in [(SIGTERM, ProcessOutcome.Ending.exit(130)), (SIGKILL, .signal(SIGKILL))] {
      #expect(try await ended(by: signal, restoring, undo: change) == ending)
      let found = try await export(scratch.cache)
      #expect(found == changed || found == original && signal == SIGKILL)
    }
    #expect(try Set(scratch.names).isSuperset(of: ["backup", "cache"]))
  }

  @Test func aFullDiskIs74AndLeavesNothing() async throws {
    // More than the limit, in the database, too.
    try fill(4_000)
    let process = try LaunchedProcess(
      URL(fileURLWithPath: "/usr/bin/env"),
      ["sh", "-c", "ulimit -f 4096; exec \"$0\" \"$@\"", Tool.path, "backup", backup, "--cache", scratch.cache],
      input: .nullDevice, output: FileHandle.nullDevice, errors: .nullDevice)
    #expect(process.wait().status == 74)
    #expect(try scratch.names == ["cache"])
  }

  @Test func damageIs4() async throws {
    try fill(20)
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
