#if canImport(Glibc)
  import LMDB
  import Platform
  import Synchronization
  import TestSupport
  import Testing

  @Suite struct ReaderTableTests {
    let directory = TemporaryDirectory()

    private func process() throws -> ChildProcess { try ChildProcess("LMDBTestProcess", [directory.path]) }

    private func open(_ maxReaders: UInt32) throws(LMDBError) -> Environment {
      try directory.open {
        $0.maxReaders = maxReaders
        $0.keptReaders = 4
        $0.waits.read = 200_000_000
      }
    }

    @Test func threadsSpreadOverTheSlots() {
      let slots = ReaderSlots(count: 64, kept: 16)
      defer { unsafe slots.deallocate() }
      let seen = Mutex<Set<Int>>([])
      let arrived = Atomic<Int>(0)
      onThreads(64) { _ in
        seen.withLock { _ = $0.insert(slots.preferred) }
        // All must be alive at once, because thread identities are reused.
        arrived.add(1, ordering: .relaxed)
        while arrived.load(ordering: .relaxed) < 64 { yieldThread() }
      }
      let places = seen.withLock { $0 }
      #expect(places.count > 4)
      #expect(places.allSatisfy { (0..<16).contains($0) })
    }

    /// Each process has used most of the table.
    @Test func processesThatHadManySnapshotsLeaveRoomForOthers() throws {
      let environment = try open(40)
      defer { environment.close() }
      try environment.put([7], [1])
      var processes: [ChildProcess] = []
      for _ in 0..<5 {
        let process = try process()
        #expect(process.run("snapshots 20") == "ok")
        #expect(process.run("get") == "7")
        processes.append(process)
      }
      for process in processes { #expect(process.run("snapshots 20") == "ok") }
      #expect(try environment.readers().isEmpty)
    }

    @Test func aFullTableSaysWhatToDo() throws {
      let environment = try open(12)
      defer { environment.close() }
      try environment.put([7], [1])
      let holder = try process()
      #expect(holder.run("hold 12") == "holding")
      do throws(LMDBError) {
        _ = try environment.value([1])
        Issue.record("a thirteenth")
      } catch {
        #expect(error.code == .readersFull)
        #expect(error.message.contains("maxReaders"))
        #expect(error.message.contains("Environment.readers()"))
      }
      #expect(try environment.readers().filter { $0.process == holder.identifier }.count == 12)
      let other = try process()
      #expect(other.run("get") == "error readersFull")
      #expect(holder.run("") == "ok")
      #expect(try environment.value([1]) == [7])
      #expect(other.run("get") == "7")
      // A killed process leaves no slot behind either.
      #expect(holder.run("hold 8") == "holding")
      holder.kill()
      #expect(other.run("snapshots 10") == "ok")
    }

    /// A running process keeps the table size it mapped.
    @Test func anotherProcessDoesNotGrowTheTable() throws {
      let environment = try open(8)
      defer { environment.close() }
      try environment.put([7], [1])
      #expect(try environment.value([1]) == [7])
      let size = try #require(try Directory(path: directory.path).size(of: "lock.mdb"))
      let other = try process()
      #expect(other.run("get") == "7")
      #expect(other.run("snapshots 8") == "error readersFull")
      #expect(try Directory(path: directory.path).size(of: "lock.mdb") == size)
      #expect(try environment.value([1]) == [7])
    }
  }
#endif
