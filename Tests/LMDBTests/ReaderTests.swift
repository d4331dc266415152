#if canImport(Glibc)
  import Foundation
  import LMDB
  import Platform
  import TestSupport
  import Testing

  /// Slots for snapshots: the pool of the process, and the table in the lock file.
  @Suite struct ReaderTests {
    let directory = TemporaryDirectory()

    private func process() throws -> ChildProcess { try ChildProcess("LMDBTestProcess", [directory.path]) }

    private func open(_ maxReaders: UInt32) throws(LMDBError) -> Environment {
      try directory.open {
        $0.maxReaders = maxReaders
        $0.keptReaders = 4
        $0.waits.read = 200_000_000
      }
    }

    // MARK: The pool

    @Test func noFreeSlotIsANamedError() throws {
      let environment = try directory.open {
        $0.readerPoolSize = 1
        $0.waits.read = 10_000_000
      }
      defer { environment.close() }
      try environment.put([1], [1])
      try environment.withReadTransaction { transaction throws(LMDBError) in
        #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .unavailableReaderSlot)
        #expect(try transaction.value([1]) == [1])
      }
      for _ in 0..<100 {
        // A throw in the body frees the slot. LMDB fails on an empty key.
        #expect(code { () throws(LMDBError) in _ = try environment.value([]) } == .badValueSize)
      }
      #expect(try environment.value([1]) == [1])
    }

    @Test func openSnapshotsAreListed() throws {
      let environment = try directory.open()
      defer { environment.close() }
      try environment.put([1], [1])
      #expect(try environment.readers() == [])
      try environment.withReadTransaction { (transaction) throws(LMDBError) in
        try environment.put([2], [1])
        let readers = try environment.readers()
        #expect(readers.count == 1 && readers.first?.process == getpid())
        #expect(readers.first?.transactionID == transaction.id)
        #expect(environment.lastTransactionID == transaction.id + 1)
      }
      #expect(try environment.readers() == [])
    }

    // MARK: The table

    @Test func aFullTableSaysWhatToDo() throws {
      let environment = try open(12)
      defer { environment.close() }
      try environment.put([7], [1])
      let size = try #require(try Directory(path: directory.path).size(of: "lock.mdb"))
      let holder = try process()
      #expect(holder.run("hold 12") == "holding")
      do throws(LMDBError) {
        _ = try environment.value([1])
        Issue.record("a thirteenth")
      } catch {
        #expect(error.code == .readersFull)
        #expect(error.message.contains("maxReaders") && error.message.contains("Environment.readers()"))
      }
      #expect(try environment.readers().filter { $0.process == holder.identifier }.count == 12)
      let other = try process()
      #expect(other.run("get") == "error readersFull")
      #expect(holder.run("") == "ok")
      #expect(other.run("get") == "7")
      // A killed process leaves no slot behind either, and no process makes the table larger.
      #expect(holder.run("hold 8") == "holding")
      holder.kill()
      #expect(other.run("snapshots 10") == "ok")
      #expect(other.run("snapshots 13") == "error readersFull")
      #expect(try Directory(path: directory.path).size(of: "lock.mdb") == size)
      // Other threads start at other slots, which have no place in the table, and find one that has.
      concurrently(8) { _ in
        let found = code { () throws(LMDBError) in _ = try environment.value([1]) }
        #expect(found == nil)
      }
    }

    /// A hole in the lock file would end the process on a full disk. The trial `full-disk` fills real ones.
    @Test(arguments: [1, 126, 1022]) func theLockFileHasNoHoles(maxReaders: UInt32) throws {
      let environment = try directory.open { $0.maxReaders = maxReaders }
      defer { environment.close() }
      let status = try #require(try Directory(path: directory.path).status(of: "lock.mdb"))
      #expect(status.size > 0 && status.allocatedBytes >= status.size)
      #expect(try environment.info().maxReaders == Int(maxReaders))
    }
  }
#endif
