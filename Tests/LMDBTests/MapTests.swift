import LMDB
import TestSupport
import Testing

@Suite struct MapTests {
  let directory = TemporaryDirectory()

  @Test(arguments: [false, true]) func aFullMapEndsTheTransactionAndNothingElse(upserts: Bool) throws {
    let environment = try directory.open { $0.mapSize = 1 << 20 }
    defer { environment.close() }
    try environment.put([1], [1])
    let value = [UInt8](repeating: 7, count: 3_000)
    func write(_ transaction: borrowing WriteTransaction, _ number: Int) throws(LMDBError) {
      let key = bytes("key \(number)")
      if upserts { _ = try transaction.upsert(value, key) } else { try transaction.put(value, key) }
    }
    let transaction = try environment.beginWrite()
    var failure: LMDBError.Code?
    var number = 0
    while failure == nil, number < 10_000 {
      failure = code { () throws(LMDBError) in try write(transaction, number) }
      number += 1
    }
    #expect(failure == .mapFull)
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
    // It never shrinks.
    try environment.growMap(to: 1)
    #expect(try environment.info().mapSize == 64 << 20)
    try environment.growMap(to: (64 << 20) + 1)
    let info = try environment.info()
    #expect(info.mapSize > 64 << 20 && info.mapSize % info.main.pageSize == 0)
  }

  @Test func growingGivesUpOnAWriteThatLasts() throws {
    let environment = try directory.open { $0.waits.map = 20_000_000 }
    defer { environment.close() }
    try environment.put([1], [1])
    let transaction = try environment.beginWrite()
    concurrently(1) { _ in
      #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .busy)
    }
    transaction.abort()
    try environment.growMap(to: 1 << 30)
    #expect(try environment.value([1]) == [1])
  }

  /// A nested read waits for the growth, which times out on the outer read: no deadlock.
  @Test func nestedReadsOutlastAGrowth() throws {
    let environment = try directory.open { $0.waits.map = 50_000_000 }
    defer { environment.close() }
    try environment.put([1], [1])
    let (isInside, isDone) = (Guarded(false), Guarded(false))
    concurrently(2) { index in
      do {
        if index == 0 {
          try environment.withReadTransaction { _ throws(LMDBError) in
            isInside { $0 = true }
            while !isDone.current { #expect(try environment.value([1]) == [1]) }
          }
        } else {
          #expect(eventually { isInside.current })
          #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .busy)
          isDone { $0 = true }
        }
      } catch { Issue.record(error) }
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
