import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct BackupTests {
  let scratch = try! Scratch()

  private var backup: String { scratch.path("backup") }

  private func fill(_ count: Int, size: Int = 3_000) throws {
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    let cache = try LMDBCache(
      directory: URL(fileURLWithPath: scratch.cache), configuration: configuration.withoutMemory)
    for number in 0..<count {
      try cache.set(Data(repeating: UInt8(number % 251), count: size), forKey: "key \(1_000_000 + number)", tags: ["a"])
    }
    try cache.close()
  }

  private func export(_ path: String) async throws -> String {
    let result = try await Tool.run("export", "--cache", path)
    #expect(result.status == 0, "\(result.errors)")
    return result.text
  }

  @Test func aBackupIsMadeAndRestored() async throws {
    try fill(500)
    let original = try await export(scratch.cache)
    let result = try await Tool.run("backup", backup, "--cache", scratch.cache)
    #expect(result.status == 0 && result.errors.isEmpty && result.text.contains("500"), "\(result.errors)")
    #expect(try await export(backup) == original)
    #expect(try await Tool.run("verify", "--values", backup).status == 0)
    #expect(try await Tool.run("backup", backup, "--cache", scratch.cache).status == 73)
    #expect(try await Tool.run("clear", "--cache", scratch.cache).status == 0)
    let restored = try await Tool.run("restore", backup, "--cache", scratch.cache)
    #expect(restored.status == 0 && restored.text.contains("\(scratch.cache).former-1"), "\(restored.errors)")
    #expect(try await export(scratch.cache) == original)
    #expect(try scratch.names == ["backup", "cache", "cache.former-1"])
    let again = try await Tool.run("restore", backup, "--cache", scratch.cache, "--replace")
    #expect(again.status == 0 && !again.text.contains("former"))
    #expect(try scratch.names == ["backup", "cache", "cache.former-1"])
    #expect(try await export(scratch.cache) == original)
  }

  @Test func withoutACacheIs66AndOneThatIsOpenIs75() async throws {
    #expect(try await Tool.run("backup", backup, "--cache", scratch.cache).status == 66)
    #expect(try await Tool.run("restore", backup, "--cache", scratch.cache).status == 66)
    #expect(try scratch.names.isEmpty)
    try fill(3)
    #expect(try await Tool.run("backup", backup, "--cache", scratch.cache).status == 0)
    let process = try ChildProcess("CacheTestProcess")
    #expect(process.run("open \(scratch.cache)") == "ok")
    let refused = try await Tool.run("restore", backup, "--cache", scratch.cache)
    #expect(refused.status == 75 && refused.errors.contains("open"), "\(refused.errors)")
    #expect(process.run("close") == "ok")
    #expect(try await Tool.run("restore", backup, "--cache", scratch.cache).status == 0)
    #expect(try await Tool.run("backup", scratch.cache + "/inside", "--cache", scratch.cache).status == 64)
  }

  /// Each backup of a cache under heavy writes is a snapshot of one moment.
  @Test(arguments: ["batches a b 1000000", "loop p: 40 6000 0", "loop p: 40 60 50"])
  func othersGoOnWriting(_ work: String) async throws {
    let process = try ChildProcess("CacheTestProcess")
    #expect(process.run("open \(scratch.cache)") == "ok")
    #expect(process.run("batches a b 1") == "ok")
    process.send(work)
    // Drain the pipe, or the process would block.
    let reading = Thread { while process.readLine() != nil {} }
    reading.start()
    var states: Set<String> = []
    let deadline = Date(timeIntervalSinceNow: 120)
    var number = 0
    while states.count < 3, Date() < deadline {
      number += 1
      let place = scratch.path("backup \(number)")
      let result = try await Tool.run("backup", place, "--cache", scratch.cache)
      #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
      #expect(try await Tool.run("verify", "--values", place).status == 0)
      let lines = try await export(place).split(separator: "\n").filter { $0.contains(#""key""#) }
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

  private static let limited = ["sh", "-c", "ulimit -f 4096; exec \"$0\" \"$@\""]

  @Test func aFullDiskIs74AndLeavesNothing() async throws {
    // More than the limit, in the database, too.
    try fill(4_000)
    let process = try LaunchedProcess(
      URL(fileURLWithPath: "/usr/bin/env"), Self.limited + [Tool.path, "backup", backup, "--cache", scratch.cache],
      input: .nullDevice, output: FileHandle.nullDevice, errors: .nullDevice)
    #expect(process.wait().status == 74)
    #expect(try scratch.names == ["cache"])
  }

  @Test func damageIs4() async throws {
    try fill(20)
    let folder = URL(fileURLWithPath: scratch.cache + "/values")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
    var segment = try Data(contentsOf: folder.appendingPathComponent(name))
    let place = try #require(segment.firstRange(of: Data(repeating: 7, count: 100)))
    segment[place.lowerBound] ^= 1
    try segment.write(to: folder.appendingPathComponent(name))
    let result = try await Tool.run("backup", backup, "--cache", scratch.cache)
    #expect(result.status == 4 && result.errors.contains("\"key 1000007\""), "\(result.errors)")
    #expect(try scratch.names == ["cache"])
    let partial = try await Tool.run("backup", backup, "--cache", scratch.cache, "--skip-damaged")
    #expect(partial.status == 4 && partial.errors.contains("\"key 1000007\""), "\(partial.errors)")
    #expect(try await Tool.run("ls", "-q", "--cache", backup).text.split(separator: "\n").count == 19)
    // A damaged backup must not replace a sound cache.
    let restored = try await Tool.run("restore", scratch.cache, "--cache", backup)
    #expect(restored.status == 4 && restored.errors.contains("\"key 1000007\""), "\(restored.errors)")
    #expect(try scratch.names == ["backup", "cache"])
  }
}
