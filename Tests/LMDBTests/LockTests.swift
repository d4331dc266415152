#if canImport(Glibc)
  import Foundation
  import LMDB
  import Platform
  import TestSupport
  import Testing

  @Suite struct LockTests {
    let directory = TemporaryDirectory()

    private func open() throws(LMDBError) -> Environment {
      try directory.open { $0.waits.otherProcesses = 50_000_000 }
    }

    private func process() throws -> ChildProcess { try ChildProcess("LMDBTestProcess", [directory.path]) }

    @Test func aDeletedLockFileDoesNotMakeASecondWriter() throws {
      let environment = try open()
      defer { environment.close() }
      try environment.put([1], [1])
      let transaction = try environment.beginWrite()
      try transaction.put([2], [1])
      unlink(directory.path + "/lock.mdb")
      #expect(try process().run("put 9") == "error lockTimeout")
      try transaction.commit()
      #expect(try environment.value([1]) == [2])
    }

    @Test func writersTakeTurns() throws {
      let environment = try directory.open { $0.waits.otherProcesses = 5_000_000_000 }
      defer { environment.close() }
      try environment.put([0], [0])
      let greedy = try process()
      #expect(greedy.run("greedy 1") == "ok")
      #expect(try eventually { try environment.value([1]) != nil })
      for round in 0..<200 { try environment.put([UInt8(round & 0xFF)], [2]) }
      greedy.kill()
    }

    // MARK: Openings

    @Test func whoIsAloneNeedsNoLockFile() throws {
      let path = directory.makeDirectory("alone")
      let environment = try directory.open("alone") { $0.usesLockFile = false }
      try environment.put([2], [1])
      #expect(try environment.value([1]) == [2])
      #expect(throws: LMDBError.self) { try directory.open("alone") }
      try environment.sync(force: true)
      environment.close()
      #expect(try Directory(path: path).names() == ["data.mdb"])
      let again = try directory.open("alone")
      #expect(try again.value([1]) == [2])
      again.close()
    }
  }
#endif
