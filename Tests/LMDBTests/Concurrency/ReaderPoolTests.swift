import LMDB
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

@Suite struct ReaderPoolTests {
  let directory = TemporaryDirectory()

  @Test(arguments: [1, 2, 8])
  func moreThreadsThanSlots(slots: Int) throws {
    let environment = try directory.open { $0.readerPoolSize = slots }
    defer { environment.close() }
    for key in UInt8(1)...50 { try environment.put([key, key], [key]) }
    let reads = Atomic<Int>(0)
    onThreads(16) { _ in
      do {
        for _ in 0..<20 {
          for key in UInt8(1)...50 where try environment.value([key]) == [key, key] {
            reads.add(1, ordering: .relaxed)
          }
        }
      } catch {
        Issue.record(error)
      }
    }
    #expect(reads.load(ordering: .relaxed) == 16 * 20 * 50)
    // One per slot, and the one from opening, which is free again.
    #expect(try environment.info().readersInUse <= slots + 1)
  }

  /// Both keys must come from the same transaction.
  @Test func snapshotsAreConsistentWhileOthersWrite() throws {
    let environment = try directory.open()
    defer { environment.close() }
    let isDone = Atomic<Bool>(false)
    let torn = Atomic<Int>(0)
    onThreads(5) { index in
      do {
        if index == 0 {
          for round in 0..<2_000 {
            let value = withUnsafeBytes(of: round) { [UInt8]($0) }
            let transaction = try environment.beginWrite()
            try transaction.put(value, [1])
            try transaction.put(value, [2])
            try transaction.commit()
          }
          isDone.store(true, ordering: .releasing)
        } else {
          var last: UInt64 = 0
          while !isDone.load(ordering: .acquiring) {
            try environment.withReadTransaction { transaction throws(LMDBError) in
              if try transaction.value([1]) != transaction.value([2]) || transaction.id < last {
                torn.add(1, ordering: .relaxed)
              }
              last = transaction.id
            }
          }
        }
      } catch {
        isDone.store(true, ordering: .releasing)
        Issue.record(error)
      }
    }
    #expect(torn.load(ordering: .relaxed) == 0)
  }

  @Test func aThrowInTheBodyFreesTheSlot() throws {
    let environment = try directory.open { $0.readerPoolSize = 1 }
    defer { environment.close() }
    try environment.put([1], [1])
    for _ in 0..<100 {
      #expect(
        code { () throws(LMDBError) in
          try environment.withReadTransaction { transaction throws(LMDBError) in
            // LMDB fails on an empty key.
            _ = try transaction.value([])
          }
        } == .badValueSize)
    }
    #expect(try environment.value([1]) == [1])
  }

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
    #expect(try environment.value([1]) == [1])
  }

  @Test func aFullReaderTableIsANamedError() throws {
    let environment = try directory.open {
      $0.maxReaders = 1
      // Long enough for eight threads to take turns on a busy machine.
      $0.waits.read = 1_000_000_000
    }
    defer { environment.close() }
    try environment.withReadTransaction { _ throws(LMDBError) in
      #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .readersFull)
    }
    // Other threads start at other slots, which have no place in the table, and find the one that has.
    onThreads(8) { _ in
      #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == nil)
    }
  }

  @Test func openSnapshotsAreListed() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try environment.put([1], [1])
    #expect(try environment.value([1]) == [1])
    #expect(try environment.readers() == [])
    try environment.withReadTransaction { (transaction) throws(LMDBError) in
      try environment.put([2], [1])
      let reader = try environment.readers().first
      #expect(reader?.process == getpid())
      #expect(reader?.transactionID == transaction.id)
      #expect(try environment.readers().count == 1)
      #expect(environment.lastTransactionID == transaction.id + 1)
    }
    #expect(try environment.readers() == [])
  }

  @Test func deadReaders() throws {
    let environment = try directory.open()
    defer { environment.close() }
    #expect(try environment.checkReaders() == 0)
  }
}
