#if canImport(Glibc)
  import Glibc
  import LMDB
  import TestSupport
  import Testing

  @Suite struct ForkTests {
    let directory = TemporaryDirectory()

    @Test func theChildIsRefusedAndTheParentGoesOn() throws {
      let environment = try directory.open()
      defer { environment.close() }
      try environment.put([1], [1])
      #expect(try environment.value([1]) == [1])
      let result = inForkedChild {
        guard environment.isClosed else { return 1 }
        guard code({ () throws(LMDBError) in _ = try environment.value([1]) }) == .forked else { return 2 }
        guard code({ () throws(LMDBError) in _ = try environment.beginWrite() }) == .forked else { return 3 }
        guard code({ () throws(LMDBError) in _ = try environment.info() }) == .forked else { return 4 }
        guard environment.lastTransactionID == 1 else { return 5 }
        environment.close()
        return 0
      }
      #expect(result == 0)
      #expect(!environment.isClosed)
      #expect(try environment.value([1]) == [1])
      try environment.put([2], [1])
      #expect(try environment.value([1]) == [2])
    }

    @Test func theChildOpensItAnew() throws {
      let environment = try directory.open()
      defer { environment.close() }
      try environment.put([1], [1])
      let result = inForkedChild {
        do throws(LMDBError) {
          let own = try directory.open()
          guard own !== environment else { return 1 }
          guard try own.value([1]) == [1] else { return 2 }
          try own.put([2], [2])
          own.close()
          return 0
        } catch {
          return 3
        }
      }
      #expect(result == 0)
      #expect(try environment.value([2]) == [2])
    }

    /// A child that leaves a read or drops a write of its parent must not touch the parent's locks.
    @Test func transactionsThatSpanTheFork() throws {
      let environment = try directory.open()
      defer { environment.close() }
      for key in UInt8(1)...100 { try environment.put([UInt8](repeating: 1, count: 200), [key]) }
      try environment.withReadTransaction { transaction throws(LMDBError) in
        let before = try transaction.all()
        #expect(
          inForkedChild {
            code { () throws(LMDBError) in
              try environment.withReadTransaction { _ throws(LMDBError) in }
            } == .forked ? 0 : 1
          } == 0)
        for round in UInt8(2)...20 {
          let write = try environment.beginWrite()
          for key in UInt8(1)...100 { try write.put([UInt8](repeating: round, count: 200), [key]) }
          try write.commit()
        }
        // Its pages were not reused, so its slot was not reset.
        #expect(try transaction.all() == before)
      }

      var child: pid_t = 0
      try environment.withReadTransaction { transaction throws(LMDBError) in
        let before = try transaction.all()
        child = fork()
        if child == 0 {
          limitForkedChild()
        } else {
          #expect(result(ofForkedChild: child) == 0)
          for round in UInt8(21)...40 {
            let write = try environment.beginWrite()
            for key in UInt8(1)...100 { try write.put([UInt8](repeating: round, count: 200), [key]) }
            try write.commit()
          }
          #expect(try transaction.all() == before)
        }
      }
      if child == 0 { _exit(0) }
    }

    @Test func aWriteThatSpansTheFork() throws {
      let environment = try directory.open()
      defer { environment.close() }
      let transaction = try environment.beginWrite()
      try transaction.put([1], [1])
      let child = fork()
      if child == 0 {
        limitForkedChild()
        var failure: LMDBError?
        do throws(LMDBError) { try transaction.commit() } catch { failure = error }
        _exit(failure?.code == .forked ? 0 : 1)
      }
      #expect(result(ofForkedChild: child) == 0)
      try transaction.put([2], [2])
      try transaction.commit()
      #expect(try environment.value([1]) == [1])
      #expect(try environment.value([2]) == [2])
    }
  }
#endif
