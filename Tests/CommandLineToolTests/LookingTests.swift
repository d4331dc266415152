import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Read-only commands change nothing but the reader table, whatever the state of the cache, and need only read
/// permission.
@Suite struct LookingTests {
  let scratch = try! Scratch()

  private func fill(_ durability: Durability = .ordered) throws {
    var configuration = CacheConfiguration()
    configuration.durability = durability
    let cache = try LMDBCache(
      directory: URL(fileURLWithPath: scratch.cache), configuration: configuration.withoutMemory)
    for number in 1_000..<1_200 { try cache.set("value \(number)", forKey: "key:\(number)") }
    try cache.set(Data(repeating: 65, count: 10_000), forKey: "large")
    try cache.close()
  }

  private func process(_ lines: String...) throws -> ChildProcess {
    let process = try ChildProcess("CacheTestProcess")
    for line in ["open \(scratch.cache) interval=86400000"] + lines { #expect(process.run(line) == "ok", "\(line)") }
    return process
  }

  private func expectUnchanged(
    _ command: LookingCommand, status: Int32? = nil, startedBy words: [String] = []
  ) async throws {
    let before = try TreeImage(scratch.cache, except: ["lock.mdb"])
    let result =
      words.isEmpty
      ? try await Tool.run(command.words(scratch.cache))
      : try await Tool.run(command.words(scratch.cache), startedBy: words)
    #expect(result.status == status ?? command.status, "\(result.errors)")
    #expect(result.output.isEmpty == (result.status != 0))
    if command == .get, result.status == 0 { #expect(result.text == "value 1000") }
    let after = try TreeImage(scratch.cache, except: ["lock.mdb"])
    #expect(before.losses(in: after) == [] && before.additions(in: after) == [])
  }

  @Test(arguments: LookingCommand.allCases) func aCacheThatNobodyHasOpen(_ command: LookingCommand) async throws {
    try fill()
    try await expectUnchanged(command)
  }

  /// Suspended, so that it changes nothing itself. A suspended process must not block a reader.
  @Test(arguments: LookingCommand.allCases) func aCacheThatAnotherProcessHasOpen(
    _ command: LookingCommand
  ) async throws {
    try fill()
    let process = try process("set key:1001 new", "flush", "set key:1002 newer")
    process.suspend()
    try await expectUnchanged(command)
    let waiting = try await Tool.run("get", "key:1002", "--cache", scratch.cache)
    #expect(waiting.text == "newer")
    process.resume()
    // The last process to close marks the cache as sound.
    #expect(process.run("close") == "ok")
    #expect(try await Tool.run("verify", scratch.cache).status == 0)
  }

  /// Suspended in mid-transaction, it holds the locks that an opening or a commit needs.
  @Test(arguments: LookingCommand.allCases) func aCacheWhoseWriterIsSuspended(_ command: LookingCommand) async throws {
    try fill()
    let process = try process()
    #expect(process.run("stopwriting") == "stopping")
    process.awaitSuspension()
    try await expectUnchanged(command)
    process.kill()
  }

  @Test(arguments: LookingCommand.allCases) func aCacheOfAKilledProcess(_ command: LookingCommand) async throws {
    try fill()
    let process = try process("set key:1001 new", "flush", "set key:1002 newer", "remove key:1003", "set last 1")
    process.kill()
    try await expectUnchanged(command)
    // Acknowledged writes are listed, and their journal stays.
    let list = try await Tool.run("ls", "-q", "--cache", scratch.cache).text.split(separator: "\n")
    #expect(list.count == 201 && list.contains("last") && !list.contains("key:1003"))
    #expect(try await Tool.run("get", "key:1001", "--cache", scratch.cache).text == "new")
    #expect(try await Tool.run("get", "key:1002", "--cache", scratch.cache).text == "newer")
    #expect(try await Tool.run("get", "key:1003", "--cache", scratch.cache).status == 1)
    let table = try await Tool.run("stat", "--cache", scratch.cache).text
    #expect(table.contains("waiting writes") && table.split(separator: "\n")[3].hasSuffix(" 201"))
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    #expect(cache.statistics.replayedWrites == 3)
    #expect(try cache.value(String.self, forKey: "key:1002") == "newer")
    try await cache.close()
  }

  @Test(arguments: LookingCommand.allCases) func aDamagedCache(_ command: LookingCommand) async throws {
    try fill()
    let data = URL(fileURLWithPath: scratch.cache + "/data.mdb")
    var bytes = try Data(contentsOf: data)
    bytes.removeLast(bytes.count / 2)
    try bytes.write(to: data)
    try await expectUnchanged(command, status: 4)
  }

  /// The tool used to try one durability after the other, and the first discarded the cache.
  @Test(arguments: LookingCommand.allCases) func aFastCacheThatWasOpenWhenTheSystemStopped(
    _ command: LookingCommand
  ) async throws {
    try fill(.fast)
    try Data(("LMDBCFS1" + String(repeating: "x", count: 16)).utf8)
      .write(to: URL(fileURLWithPath: scratch.cache + "/fast-session"))
    try await expectUnchanged(command, status: 4)
  }

  @Test(arguments: [
    ["set", "key", "value"], ["rm", "key:1000"], ["rm", "--prefix", "key:"], ["trim", "--count", "1"], ["clear"],
  ])
  func noCommandDiscardsAFastCache(_ words: [String]) async throws {
    try fill(.fast)
    try Data(("LMDBCFS1" + String(repeating: "x", count: 16)).utf8)
      .write(to: URL(fileURLWithPath: scratch.cache + "/fast-session"))
    let before = try TreeImage(scratch.cache, except: ["lock.mdb"])
    let result = try await Tool.run(words + ["--cache", scratch.cache])
    #expect(result.status == 4 && result.errors.contains("Nothing was changed"), "\(result.errors)")
    #expect(before.losses(in: try TreeImage(scratch.cache, except: ["lock.mdb"])) == [])
  }

  // MARK: Less permission

  @Test(
    .enabled(if: Restriction.allowsMounting, "a directory cannot be mounted read-only here"),
    arguments: LookingCommand.allCases)
  func aReadOnlyMount(_ command: LookingCommand) async throws {
    try fill()
    try await expectUnchanged(command, startedBy: Restriction.readOnly(scratch.cache))
    let refused = try await Tool.run(
      ["set", "a", "b", "--cache", scratch.cache], startedBy: Restriction.readOnly(scratch.cache))
    #expect(refused.status == 73 && refused.errors.contains("read-only"), "\(refused.errors)")
  }

  @Test(.enabled(if: Restriction.allowsMounting, "a directory cannot be mounted read-only here"))
  func aReadOnlyMountOfACacheInUse() async throws {
    try fill()
    let process = try ChildProcess("CacheTestProcess")
    #expect(process.run("open \(scratch.cache) interval=0") == "ok")
    process.send("loop key: 50 3000 0")
    for _ in 0..<3 {
      let list = try await Tool.run(
        ["ls", "-q", "--cache", scratch.cache], startedBy: Restriction.readOnly(scratch.cache))
      #expect(list.status == 0 && list.text.split(separator: "\n").count >= 201, "\(list.errors)")
    }
    process.kill()
  }

  /// As in two containers: neither sees whether the other's processes are alive, so it may not open the cache.
  @Test(
    .enabled(if: Restriction.allowsMounting, "a namespace cannot be made here"), arguments: LookingCommand.allCases)
  func aCacheThatIsOpenInAnotherNamespace(_ command: LookingCommand) async throws {
    try fill()
    let process = try process("set key:1002 newer")
    process.suspend()
    let apart = ["unshare", "--pid", "--fork"]
    try await expectUnchanged(command, startedBy: apart)
    let refused = try await Tool.run(["set", "a", "b", "--cache", scratch.cache], startedBy: apart)
    #expect(refused.status == 75 && refused.errors.contains("namespace"), "\(refused.errors)")
    process.kill()
  }

  /// Anyone with write access to the directory controls the output.
  @Test func aDirectoryThatOthersMayWriteTo() async throws {
    try fill()
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: scratch.cache)
    for command in LookingCommand.allCases { try await expectUnchanged(command) }
    let refused = try await Tool.run("set", "a", "b", "--cache", scratch.cache)
    #expect(refused.status == 77 && refused.errors.contains("other users"), "\(refused.errors)")
  }

  @Test func aProcessThatIsInTheWayIs75() async throws {
    try fill()
    let process = try ChildProcess("CacheTestProcess")
    #expect(process.run("stopopening \(scratch.cache)") == "stopping")
    process.awaitSuspension()
    for command in LookingCommand.allCases { try await expectUnchanged(command) }
    let refused = try await Tool.run("set", "a", "b", "--cache", scratch.cache)
    #expect(refused.status == 75 && refused.errors.contains("\(process.identifier)"), "\(refused.errors)")
    process.kill()
  }

  @Test(
    .enabled(if: Restriction.allowsOtherUser, "no other user can run the tool here"),
    arguments: LookingCommand.allCases)
  func aCacheOfAnotherUser(_ command: LookingCommand) async throws {
    try fill()
    try process("set key:1002 newer").kill()
    let refused = try await Tool.run(command.words(scratch.cache), startedBy: Restriction.otherUser)
    #expect(refused.status == 77 && refused.output.isEmpty, "\(refused.errors)")
    try allowEverybodyToRead()
    try await expectUnchanged(command, startedBy: Restriction.otherUser)
    let waiting = try await Tool.run(["get", "key:1002", "--cache", scratch.cache], startedBy: Restriction.otherUser)
    #expect(waiting.text == "newer" && waiting.errors == "")
  }

  @Test(.enabled(if: Restriction.allowsOtherUser, "no other user can run the tool here"))
  func aJournalThatMayNotBeRead() async throws {
    try fill()
    try process("set key:1002 newer").kill()
    try allowEverybodyToRead()
    let journals = scratch.cache + "/journals"
    for name in try FileManager.default.contentsOfDirectory(atPath: journals) {
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: journals + "/" + name)
    }
    let get = try await Tool.run(["get", "key:1002", "--cache", scratch.cache], startedBy: Restriction.otherUser)
    #expect(get.status == 0 && get.text == "value 1002" && get.errors.contains(journals))
    let stat = try await Tool.run(["stat", "--cache", scratch.cache], startedBy: Restriction.otherUser)
    #expect(stat.status == 1 && stat.text.contains(journals))
  }

  private func allowEverybodyToRead() throws {
    let files = FileManager.default
    for name in [""] + (try files.subpathsOfDirectory(atPath: scratch.cache)) {
      let path = scratch.cache + "/" + name
      let type = try files.attributesOfItem(atPath: path)[.type] as? FileAttributeType
      try files.setAttributes([.posixPermissions: type == .typeDirectory ? 0o755 : 0o644], ofItemAtPath: path)
    }
  }
}
