import Foundation
import TestSupport
import Testing

/// Processes that end while a suite's file is written; Foundation on Linux truncates it first.
@Suite(.serialized)
struct DefaultsFileTests {
  private let directory: TemporaryDirectory
  private var file: String { directory.url.path + "/suite.plist" }
  private var copy: String { directory.url.path + "/.suite.plist.copy" }

  init() throws { directory = try TemporaryDirectory() }

  private func start(_ suite: String = "suite") throws -> ChildProcess {
    var environment = ProcessInfo.processInfo.environment
    environment["XDG_CONFIG_HOME"] = directory.url.path
    return try ChildProcess("EFStorageTestProcess", ["serve-defaults", suite], environment: environment)
  }

  /// The output of a process that runs a command and exits.
  @discardableResult private func run(_ command: String) throws -> [String] {
    let process = try start()
    process.send(command)
    process.endInput()
    return process.readRemaining()
  }

  private func truncate(to length: UInt64) throws {
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.truncate(atOffset: length)
    try handle.close()
  }

  @Test(arguments: [0, 1, 40, 2_000], [true, false])
  func aDamagedFileIsReported(length: UInt64, hasCopy: Bool) throws {
    try run("fill")
    // The copy has the state before the last write.
    #expect(try run("set 1") == ["set 1"])
    try truncate(to: length)
    if !hasCopy { try FileManager.default.removeItem(atPath: copy) }
    let found = try run("check")
    #expect(FileManager.default.fileExists(atPath: file + ".damaged") == (length > 0))
    if hasCopy {
      #expect(found == ["loss key0", "missing 0 changing nil"])
    } else {
      #expect(found.filter { $0.hasPrefix("loss key") }.count == 100 && found.contains("loss changing"))
      #expect(found.last == "missing 100 changing nil")
      try run("fill")
    }
    #expect(try run("check") == ["missing 0 changing nil"])
  }

  /// A deleted file is not restored.
  @Test func aRemovedFileStaysRemoved() throws {
    try run("fill")
    try run("set 1")
    try FileManager.default.removeItem(atPath: file)
    #expect(try run("check") == ["missing 100 changing nil"])
    #expect(!FileManager.default.fileExists(atPath: copy))
    try run("set 2")
    try truncate(to: 0)
    #expect(try run("check").last == "missing 100 changing nil")
  }

  /// A file that cannot be written, or whose lock a suspended process holds, is reported once and tried again.
  @Test(arguments: [false, true]) func aFileThatIsNotWritten(isLocked: Bool) throws {
    if isLocked {
      try run("fill")
    } else {
      try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
    }
    // Close-on-exec: a child would keep the lock.
    let descriptor = isLocked ? open(copy, O_RDWR | O_CLOEXEC) : -1
    #expect(!isLocked || flock(descriptor, LOCK_EX) == 0)
    let process = try start()
    process.send("set 1")
    #expect((0..<3).map { _ in process.readLine() } == ["storage changing", "set 1", "storage "])
    if isLocked {
      close(descriptor)
    } else {
      try FileManager.default.removeItem(atPath: file)
      #expect(eventually { FileManager.default.fileExists(atPath: file) })
    }
    process.end()
    #expect(process.readRemaining() == [])
    #expect(try run("check") == ["missing \(isLocked ? 0 : 100) changing 1"])
  }

  /// One process stores each property's default, and the others find it.
  @Test func oneDefaultIsStored() throws {
    for round in 0..<5 {
      let processes = try (0..<4).map { _ in try start("persisting\(round)") }
      for process in processes { #expect(process.run("hello") == "ready") }
      for (number, process) in processes.enumerated() { process.send("persist \(number)") }
      let contents = Set(processes.map { $0.readLine() })
      #expect(contents.count == 1 && contents.first != nil, "\(contents)")
    }
  }
}
