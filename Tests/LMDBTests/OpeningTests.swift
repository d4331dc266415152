#if canImport(Glibc)
  import LMDB
  import Platform
  import Synchronization
  import TestSupport
  import Testing

  /// Openings that wait, and those that must not wait for them.
  @Suite struct OpeningTests {
    let directory = TemporaryDirectory()

    private func open(_ path: String) throws(LMDBError) -> Environment {
      var options = Environment.Options()
      options.mapSize = 64 << 20
      options.syncMode = .noSync
      options.waits.otherProcesses = 60_000_000_000
      return try Environment.open(directory: path, options: options)
    }

    /// A power cut may leave a lock file with anything in it.
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

      // As another process does that is suspended while it changes the reader table.
      let locks = try #require(try FileLocks(directory: Directory(path: one)))
      #expect(try locks.takeReaderTable(within: 0))
      let opened = Mutex<Environment?>(nil)
      let thread = startThread {
        do throws(LMDBError) {
          let environment = try open(one)
          opened.withLock { $0 = environment }
        } catch { Issue.record(error) }
      }
      // It has the data file open, and waits.
      while openDescriptors(in: one) < 2 { yieldThread() }

      let second = try open(two)
      try second.put([2], [1])
      #expect(try second.value([1]) == [2])
      second.close()
      let child = fork()
      if child == 0 {
        limitForkedChild()
        do throws(LMDBError) {
          let own = try open(two)
          guard try own.value([1]) == [2] else { _exit(1) }
          try own.put([3], [1])
          own.close()
          _exit(0)
        } catch { _exit(2) }
      }
      #expect(result(ofForkedChild: child) == 0)
      #expect(opened.withLock { $0 == nil })

      locks.releaseReaderTable()
      join(thread)
      let environment = try #require(opened.withLock { $0 })
      #expect(try environment.value([1]) == [1])
      environment.close()
      let again = try open(two)
      #expect(try again.value([1]) == [3])
      again.close()
    }

    /// The child opens what another thread of its parent was opening when it was forked.
    @Test func aChildOpensWhatItsParentWasOpening() throws {
      let one = directory.makeDirectory("one")
      let first = try open(one)
      try first.put([1], [1])
      first.close()
      let locks = try #require(try FileLocks(directory: Directory(path: one)))
      #expect(try locks.takeReaderTable(within: 0))
      let thread = startThread {
        do throws(LMDBError) { try open(one).close() } catch { Issue.record(error) }
      }
      while openDescriptors(in: one) < 2 { yieldThread() }
      var ends: [Int32] = [0, 0]
      #expect(pipe(&ends) == 0)
      let child = fork()
      if child == 0 {
        limitForkedChild()
        var byte: UInt8 = 0
        _ = read(ends[0], &byte, 1)
        do throws(LMDBError) {
          let own = try open(one)
          let isThere = try own.value([1]) == [1]
          own.close()
          _exit(isThere ? 0 : 1)
        } catch { _exit(2) }
      }
      locks.releaseReaderTable()
      join(thread)
      #expect(write(ends[1], [0], 1) == 1)
      #expect(result(ofForkedChild: child) == 0)
    }

    /// Many threads open, use and close a few environments, and forks happen meanwhile.
    @Test func forksDuringOpeningsAndClosings() throws {
      let paths = (0..<3).map { directory.makeDirectory("\($0)") }
      let isDone = Atomic<Bool>(false)
      // What the children do: see limitForkedChild().
      let first = try open(paths[0])
      _ = try first.value([1])
      first.close()
      onThreads(4) { index in
        if index == 0 {
          for round in 0..<30 {
            let child = fork()
            if child == 0 {
              limitForkedChild()
              do throws(LMDBError) {
                let environment = try open(paths[round % 3])
                _ = try environment.value([1])
                environment.close()
                _exit(0)
              } catch { _exit(1) }
            }
            #expect(result(ofForkedChild: child) == 0)
          }
          isDone.store(true, ordering: .releasing)
          return
        }
        var round = index
        while !isDone.load(ordering: .acquiring) {
          round += 1
          do throws(LMDBError) {
            let environment = try open(paths[round % 3])
            try environment.put([UInt8(index)], [1])
            environment.close()
          } catch { Issue.record(error) }
        }
      }
      #expect(openDescriptors(in: directory.path) == 0)
    }
  }
#endif
