import LMDB
import Synchronization
import Testing

@Suite struct MapTests {
  let directory = TemporaryDirectory()

  @Test(arguments: [false, true])
  func aFullMapEndsTheTransactionAndNothingElse(upserts: Bool) throws {
    let environment = try directory.open { $0.mapSize = 1 << 20 }
    defer { environment.close() }
    try environment.put([1], [1])
    let value = [UInt8](repeating: 7, count: 3_000)

    func write(_ transaction: borrowing WriteTransaction, _ number: Int) throws(LMDBError) {
      let key = bytes("key \(number)")
      if upserts { _ = try transaction.upsert(value, key) } else { try transaction.put(value, key) }
    }
    let transaction = try environment.beginWrite()
    var failure: LMDBError?
    var number = 0
    while failure == nil, number < 10_000 {
      do throws(LMDBError) { try write(transaction, number) } catch { failure = error }
      number += 1
    }
    #expect(failure?.code == .mapFull)
    #expect(code { () throws(LMDBError) in try write(transaction, 0) } == .badTransaction)
    #expect(code { () throws(LMDBError) in _ = try transaction.remove([1]) } == .badTransaction)
    #expect(code { () throws(LMDBError) in try transaction.removeAll() } == .badTransaction)
    var end: LMDBError?
    do throws(LMDBError) { try transaction.commit() } catch { end = error }
    #expect(end?.code == .badTransaction)

    #expect(
      try environment.withReadTransaction { transaction throws(LMDBError) in try transaction.all() }
        == [Pair([1], [1])])
    try environment.growMap(to: 64 << 20)
    let retry = try environment.beginWrite()
    for number in 0..<number { try write(retry, number) }
    try retry.commit()
    #expect(try environment.info().main.entries == number + 1)
    #expect(try environment.info().mapSize == 64 << 20)
  }

  @Test func growingNeverShrinks() throws {
    let environment = try directory.open { $0.mapSize = 8 << 20 }
    defer { environment.close() }
    try environment.growMap(to: 1)
    #expect(try environment.info().mapSize == 8 << 20)
    try environment.growMap(to: (8 << 20) + 1)
    let info = try environment.info()
    #expect(info.mapSize > 8 << 20 && info.mapSize % info.main.pageSize == 0)
  }

  @Test func growingWhileReadersAndAWriterRun() throws {
    let environment = try directory.open { $0.mapSize = 1 << 20 }
    defer { environment.close() }
    for key in UInt8(1)...100 { try environment.put([UInt8](repeating: key, count: 500), [key]) }
    let isDone = Atomic<Bool>(false)
    let wrong = Atomic<Int>(0)
    let reads = Atomic<Int>(0)
    onThreads(6) { index in
      do {
        switch index {
        case 0:
          for size in 2...60 {
            // Every growth happens during reads.
            let seen = reads.load(ordering: .relaxed)
            while reads.load(ordering: .relaxed) < seen + 200, !isDone.load(ordering: .acquiring) { yieldThread() }
            try environment.growMap(to: size << 20)
          }
          isDone.store(true, ordering: .releasing)
        case 1:
          while !isDone.load(ordering: .acquiring) {
            // Snapshots prevent page reuse, so the map may be full until it grows.
            let failure = code { () throws(LMDBError) in
              try environment.put([UInt8](repeating: 1, count: 500), [1])
            }
            if failure != nil && failure != .mapFull { wrong.add(1, ordering: .relaxed) }
            _ = try environment.info()
            if environment.lastTransactionID < 100 { wrong.add(1, ordering: .relaxed) }
          }
        default:
          while !isDone.load(ordering: .acquiring) {
            for key in UInt8(1)...100 {
              if try environment.value([key]) != [UInt8](repeating: key, count: 500) {
                wrong.add(1, ordering: .relaxed)
              }
              reads.add(1, ordering: .relaxed)
            }
          }
        }
      } catch {
        isDone.store(true, ordering: .releasing)
        Issue.record(error)
      }
    }
    #expect(wrong.load(ordering: .relaxed) == 0)
    #expect(reads.load(ordering: .relaxed) > 0)
    #expect(try environment.info().mapSize == 60 << 20)
  }

  @Test func growingGivesUpOnAReadThatLasts() throws {
    let environment = try directory.open { $0.waits.map = 20_000_000 }
    defer { environment.close() }
    try environment.put([1], [1])
    try environment.withReadTransaction { transaction throws(LMDBError) in
      #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .busy)
      #expect(try transaction.value([1]) == [1])
    }
    try environment.growMap(to: 1 << 30)
    #expect(try environment.value([1]) == [1])
  }

  @Test func growingGivesUpOnAWriteThatLasts() throws {
    let environment = try directory.open { $0.waits.map = 20_000_000 }
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    onThreads(1) { _ in
      #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .busy)
    }
    transaction.abort()
    try environment.growMap(to: 1 << 30)
  }

  /// A nested read waits for the growth, which times out on the outer read: no deadlock.
  @Test func nestedReadsOutlastAGrowth() throws {
    let environment = try directory.open { $0.waits.map = 50_000_000 }
    defer { environment.close() }
    try environment.put([1], [1])
    let isInside = Atomic<Bool>(false)
    let isDone = Atomic<Bool>(false)
    onThreads(2) { index in
      do {
        if index == 0 {
          try environment.withReadTransaction { _ throws(LMDBError) in
            isInside.store(true, ordering: .releasing)
            while !isDone.load(ordering: .acquiring) {
              #expect(try environment.value([1]) == [1])
            }
          }
        } else {
          while !isInside.load(ordering: .acquiring) { yieldThread() }
          #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .busy)
          isDone.store(true, ordering: .releasing)
        }
      } catch {
        Issue.record(error)
      }
    }
  }

  @Test func hugeMapsAreHalvedUntilTheyFit() throws {
    // Larger than the address space.
    let environment = try directory.open { $0.mapSize = 1 << 50 }
    defer { environment.close() }
    let size = try environment.info().mapSize
    #expect(size >= 64 << 20 && size < 1 << 50)
    try environment.put([1], [1])
    #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 50) } == .outOfMemory)
    #expect(try environment.value([1]) == [1])
    #expect(try environment.info().mapSize == size)
  }
}
