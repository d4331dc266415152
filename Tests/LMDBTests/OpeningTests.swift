#if canImport(Glibc)
  import LMDB
  import Platform
  import Synchronization
  import TestSupport
  import Testing

  /// Openings that wait, and others that must not wait for them.
  @Suite struct OpeningTests {
    let directory = TemporaryDirectory()

    private func open(_ path: String) throws(LMDBError) -> Environment {
      var options = Environment.Options()
      options.mapSize = 64 << 20
      options.syncMode = .noSync
      options.waits.otherProcesses = 60_000_000_000
      return try Environment.open(directory: path, options: options)
    }

    /// A power cut may leave any bytes in a lock file.
    @Test func whoIsAloneNeedsNoLockFile() throws {
      let path = directory.makeDirectory("alone")
      var options = Environment.Options()
      options.mapSize = 64 << 20
      options.usesLockFile = false
      let environment = try Environment.open(directory: path, options: options)
      try environment.put([2], [1])
      #expect(try environment.value([1]) == [2])
      #expect(throws: LMDBError.self) { try open(path) }
      try environment.sync(force: true)
      environment.close()
      #expect(try Directory(path: path).names() == ["data.mdb"])
      #expect(try open(path).value([1]) == [2])
    }

    @Test func anOpeningThatWaitsKeepsNobodyElseWaiting() throws {
      let (one, two) = (directory.makeDirectory("one"), directory.makeDirectory("two"))
      let first = try open(one)
      try first.put([1], [1])
      first.close()

      // Stands for a process suspended while it changes the reader table.
      let locks = try #require(try FileLocks(directory: Directory(path: one)))
      #expect(try locks.takeReaderTable(within: 0))
      let opened = Mutex<Environment?>(nil)
      let thread = startThread {
        do throws(LMDBError) {
          let environment = try open(one)
          opened.withLock { $0 = environment }
        } catch { Issue.record(error) }
      }
      // Open data file: it waits now.
      while openDescriptors(in: one) < 2 { yieldThread() }

      let second = try open(two)
      try second.put([2], [1])
      #expect(try second.value([1]) == [2])
      second.close()
      #expect(opened.withLock { $0 == nil })

      locks.releaseReaderTable()
      join(thread)
      let environment = try #require(opened.withLock { $0 })
      #expect(try environment.value([1]) == [1])
      environment.close()
      let again = try open(two)
      #expect(try again.value([1]) == [2])
      again.close()
    }
  }
#endif
