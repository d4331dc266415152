import LMDB
import TestSupport
import Testing

@Suite struct RecordTests {
  let directory = TemporaryDirectory()

  @Test(arguments: [0, 1, 7, 100, 2000, 2030, 4096, 70_000, 1 << 20])
  func roundTrip(size: Int) throws {
    let environment = try directory.open()
    defer { environment.close() }
    var random = SeededRandom(UInt64(size))
    let value = random.bytes(size)
    try environment.put(value, bytes("key"))
    #expect(try environment.value(bytes("key")) == value)
    #expect(try environment.value(bytes("other")) == nil)
    #expect(try environment.value(bytes("ke")) == nil)
  }

  @Test(arguments: [1, 2, 510, 511])
  func longestKeys(size: Int) throws {
    let environment = try directory.open()
    defer { environment.close() }
    let key = [UInt8](repeating: 0xFF, count: size)
    try environment.put([1], key)
    #expect(try environment.value(key) == [1])
    #expect(environment.maxKeySize == 511)
  }

  @Test(arguments: [0, 512, 100_000])
  func keySizeErrors(size: Int) throws {
    let environment = try directory.open()
    defer { environment.close() }
    let key = [UInt8](repeating: 1, count: size)
    let transaction = try environment.beginWrite()
    #expect(code { () throws(LMDBError) in try transaction.put([1], key) } == .badValueSize)
    #expect(code { () throws(LMDBError) in _ = try transaction.upsert([1], key) } == .badValueSize)
    try transaction.put([2], [2])
    try transaction.commit()
    #expect(try environment.value([2]) == [2])
    if size == 0 {
      #expect(code { () throws(LMDBError) in _ = try environment.value(key) } == .badValueSize)
    } else {
      #expect(try environment.value(key) == nil)
    }
  }

  @Test func writesAreSeenByTheirTransactionOnlyUntilTheCommit() throws {
    let environment = try directory.open()
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    try transaction.put([1], [1])
    #expect(try transaction.value([1]) == [1])
    #expect(try environment.value([1]) == nil)
    let id = transaction.id
    try transaction.commit()
    #expect(try environment.value([1]) == [1])
    #expect(environment.lastTransactionID == id)
    #expect(environment.lastPosition() == id)
    #expect(try environment.info().lastTransactionID == id)
    #expect(try environment.withReadTransaction { transaction throws(LMDBError) in transaction.id } == id)
  }

  @Test func abortAndDropForget() throws {
    let environment = try directory.open()
    defer { environment.close() }
    let first = try environment.beginWrite()
    try first.put([1], [1])
    first.abort()
    func dropped() throws(LMDBError) {
      let second = try environment.beginWrite()
      try second.put([2], [2])
    }
    try dropped()
    #expect(try environment.value([1]) == nil)
    #expect(try environment.value([2]) == nil)
    #expect(environment.lastTransactionID == 0)
  }

  @Test func removing() throws {
    let environment = try directory.open()
    defer { environment.close() }
    for key in UInt8(1)...9 { try environment.put([key], [key]) }
    let transaction = try environment.beginWrite()
    #expect(try transaction.remove([3]))
    #expect(try !transaction.remove([3]))
    #expect(try transaction.statistics().entries == 8)
    try transaction.removeAll()
    #expect(try transaction.statistics().entries == 0)
    // The shared update cursor must not keep its position.
    #expect(try !transaction.upsert([5], [5]).0)
    try transaction.commit()
    try environment.withReadTransaction { transaction throws(LMDBError) in
      #expect(try transaction.all() == [Pair([5], [5])])
      #expect(try transaction.statistics().entries == 1)
    }
  }

  @Test func namedDatabases() throws {
    let environment = try directory.open { $0.maxDatabases = 2 }
    defer { environment.close() }
    let one = try environment.openDatabase(named: "one")
    let two = try environment.openDatabase(named: "two")
    #expect(try environment.openDatabase(named: "one") == one)
    #expect(code { () throws(LMDBError) in _ = try environment.openDatabase(named: "three") } == .databasesFull)
    let transaction = try environment.beginWrite()
    try transaction.put([1], [9], in: one)
    try transaction.put([2], [9], in: two)
    #expect(
      try withBytes([9]) { key throws(LMDBError) in
        try transaction.upsert(forKey: key, size: 1, in: two, existing: { $0[0] == 2 }, fill: { $0[0] = 3 })
      })
    try transaction.commit()
    #expect(try environment.value([9], in: one) == [1])
    #expect(try environment.value([9], in: two) == [3])
    #expect(try environment.value([9]) == nil)
  }

  @Test func readOnly() throws {
    try directory.open().close()
    let environment = try directory.open {
      $0.isReadOnly = true
      $0.maxDatabases = 1
    }
    defer { environment.close() }
    #expect(try environment.value([1]) == nil)
    #expect(code { () throws(LMDBError) in _ = try environment.beginWrite() } == .permissionDenied)
    #expect(code { () throws(LMDBError) in _ = try environment.openDatabase(named: "one") } == .notFound)
    #expect(code { () throws(LMDBError) in try environment.sync(force: true) } == .permissionDenied)
    #expect(try environment.value([1]) == nil)
  }

  @Test func oneThreadHoldsOneWriteTransaction() throws {
    let environment = try directory.open()
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    #expect(code { () throws(LMDBError) in _ = try environment.beginWrite() } == .busy)
    #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .busy)
    transaction.abort()
    try environment.put([1], [1])
  }

  #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    @Test func committingOnAnotherThreadTraps() async {
      await #expect(processExitsWith: .failure) {
        let directory = TemporaryDirectory()
        let environment = try directory.open()
        nonisolated(unsafe) let place = UnsafeMutablePointer<WriteTransaction>.allocate(capacity: 1)
        join(startThread { place.initialize(to: try! environment.beginWrite()) })
        try place.move().commit()
      }
    }
  #endif
}
