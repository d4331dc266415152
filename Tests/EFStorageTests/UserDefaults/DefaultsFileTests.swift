import Foundation
import TestSupport
import Testing

/// Processes that end while a suite's file is written; Foundation on Linux truncates it first.
@Suite(.serialized)
struct DefaultsFileTests {
  private let directory: TemporaryDirectory
  private let suite = "suite"
  private var file: String { directory.url.path + "/\(suite).plist" }
  private var copy: String { directory.url.path + "/.\(suite).plist.copy" }

  init() throws { directory = try TemporaryDirectory() }

  private func start(_ words: String...) throws -> ChildProcess {
    var environment = ProcessInfo.processInfo.environment
    environment["XDG_CONFIG_HOME"] = directory.url.path
    return try ChildProcess("EFStorageTestProcess", words, environment: environment)
  }

  private func fill() throws { #expect(try start("fill-defaults", suite).readRemaining() == []) }

  private func check() throws -> [String] { try start("check-defaults", suite).readRemaining() }

  private func truncate(to length: UInt64) throws {
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.truncate(atOffset: length)
    try handle.close()
  }

  @Test(arguments: [0, 1, 40, 2_000])
  func aDamagedFileIsRestoredAndTold(length: UInt64) throws {
    try fill()
    // The copy has the state before the last write.
    #expect(try start("exit-defaults", suite, "1", "0").readRemaining() == [])
    try truncate(to: length)
    let found = try check()
    #expect(found == ["loss key0", "missing 0 changing nil"])
    #expect(try check() == ["missing 0 changing nil"])
    #expect(FileManager.default.fileExists(atPath: file + ".damaged") == (length > 0))
  }

  @Test(arguments: [0, 40])
  func aDamagedFileWithoutACopyIsTold(length: UInt64) throws {
    try fill()
    try truncate(to: length)
    try FileManager.default.removeItem(atPath: copy)
    let found = try check()
    #expect(found.filter { $0.hasPrefix("loss key") }.count == 100 && found.contains("loss changing"))
    #expect(found.last == "missing 100 changing nil")
    #expect(FileManager.default.fileExists(atPath: file + ".damaged") == (length > 0))
    try fill()
    #expect(try check() == ["missing 0 changing nil"])
  }

  /// A deleted file is not restored.
  @Test func aRemovedFileStaysRemoved() throws {
    try fill()
    #expect(try start("exit-defaults", suite, "1", "0").readRemaining() == [])
    try FileManager.default.removeItem(atPath: file)
    #expect(try check() == ["missing 100 changing nil"])
    #expect(!FileManager.default.fileExists(atPath: copy))
    #expect(try start("exit-defaults", suite, "2", "0").readRemaining() == [])
    try truncate(to: 0)
    #expect(try check().last == "missing 100 changing nil")
  }

  @Test func whatCannotBeWrittenIsToldOnceAndTriedAgain() throws {
    try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
    let process = try start("churn-defaults", suite)
    #expect(process.readLine() == "storage changing")
    process.send("1")
    #expect([process.readLine(), process.readLine()] == ["set 1", "storage "])
    try FileManager.default.removeItem(atPath: file)
    #expect(eventually { FileManager.default.fileExists(atPath: file) })
    process.end()
    #expect(process.readRemaining() == [])
    #expect(try check().last == "missing 100 changing 1")
  }

  /// A suspended process that holds the lock must not block others forever.
  @Test func aLockThatIsKept() throws {
    try fill()
    // Close-on-exec: a child would keep the lock.
    let descriptor = open(copy, O_RDWR | O_CLOEXEC)
    #expect(flock(descriptor, LOCK_EX) == 0)
    let process = try start("churn-defaults", suite)
    #expect(process.readLine() == "storage changing")
    process.send("1")
    #expect([process.readLine(), process.readLine()] == ["set 1", "storage "])
    close(descriptor)
    process.end()
    #expect(try check() == ["missing 0 changing 1"])
  }

  /// One process stores each property's default, and the others find it.
  @Test func oneDefaultIsStored() throws {
    for round in 0..<5 {
      let suite = "persisting\(round)"
      let processes = try (0..<4).map { try start("persist-default", suite, "\($0)") }
      for process in processes { #expect(process.readLine() == "ready") }
      for process in processes { process.send("go") }
      let contents = Set(processes.map { $0.readLine() })
      #expect(contents.count == 1 && contents.first != nil, "\(contents)")
    }
  }
}
