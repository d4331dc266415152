import LMDB
import TestSupport
import Testing

/// Transactions, records and cursors.
@Suite struct RecordTests {
  let directory = TemporaryDirectory()

  /// Puts, upserts and removals of every size and position, and walks that remove, against a dictionary.
  @Test(arguments: [21, 22, 23, 24, 25, 26]) func isADictionary(seed: UInt64) throws {
    let environment = try directory.open()
    defer { environment.close() }
    var random = SeededRandom(seed)
    var committed: [[UInt8]: [UInt8]] = [:]
    try environment.withReadTransaction { transaction throws(LMDBError) in try expect(transaction, [], [[1]]) }
    for round in 0..<30 {
      var oracle = committed
      let transaction = try environment.beginWrite()
      var keys = (0..<150).map { _ in random.bytes(Int.random(in: 1...3, using: &random)).map { $0 & 15 } }
      if round % 3 == 0 { keys.sort { $0.lexicographicallyPrecedes($1) } }
      for key in keys {
        switch random.below(10) {
        case 0: #expect(try transaction.remove(key) == (oracle.removeValue(forKey: key) != nil))
        case 1:
          let value = random.bytes(random.below(101))
          try transaction.put(value, key)
          oracle[key] = value
        case 2 where round % 10 == 9:
          try transaction.removeAll()
          oracle = [:]
        default:
          let sizes = [oracle[key]?.count ?? 64, 0, 5_000 + random.below(35_000), 1_900 + random.below(200)]
          let value = random.bytes(random.below(2) == 0 ? 1 + random.below(300) : sizes[random.below(4)])
          let replaces = random.below(5) != 0
          let (existed, old) = try transaction.upsert(value, key, replaces: replaces)
          #expect(old == oracle[key] && existed == (old != nil))
          if !existed || replaces { oracle[key] = value }
        }
      }
      if round % 5 == 0 {
        try transaction.withCursor { cursor throws(LMDBError) in
          #expect(code { () throws(LMDBError) in try cursor.remove() } == .invalidArgument, "It has no position.")
          var entry = try cursor.first()
          while let present = entry {
            let key = [UInt8](present.key)
            if random.below(4) == 0 {
              try cursor.remove()
              oracle[key] = nil
            }
            entry = try cursor.next()
          }
        }
      }
      #expect(try transaction.all() == sorted(oracle))
      #expect(try transaction.statistics().entries == oracle.count)
      if round % 4 == 3 {
        transaction.abort()
      } else {
        try transaction.commit()
        committed = oracle
      }
      let file = try DataFileVerifier.verify(directory: directory.path)
      #expect(file?.entries == committed.count)
    }
    let probes = (0..<300).map { _ in random.bytes(1 + random.below(6)).map { $0 & 15 } }
    try environment.withReadTransaction { transaction throws(LMDBError) in
      try expect(transaction, sorted(committed), probes)
    }
  }

  private func sorted(_ oracle: [[UInt8]: [UInt8]]) -> [Pair] {
    oracle.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Pair($0.key, $0.value) }
  }

  private func expect(
    _ transaction: borrowing ReadTransaction, _ sorted: [Pair], _ probes: [[UInt8]]
  ) throws(LMDBError) {
    #expect(try transaction.all() == sorted)
    try transaction.withCursor { cursor throws(LMDBError) in
      var backwards: [Pair] = []
      var entry = try cursor.last()
      while let present = entry {
        backwards.append(Pair(present))
        entry = try cursor.previous()
      }
      #expect(backwards == sorted.reversed())
      for probe in probes {
        let found = try cursor.seek(probe)
        #expect(found == sorted.first { !$0.key.lexicographicallyPrecedes(probe) })
        #expect(try cursor.current().map(Pair.init) == found)
      }
      let first = try cursor.first().map(Pair.init)
      #expect(first == sorted.first)
      #expect(code { () throws(LMDBError) in try cursor.remove() } == .permissionDenied)
    }
  }

  @Test(arguments: [0, 1, 510, 511, 512, 100_000]) func aKeyOfAnySize(_ size: Int) throws {
    let environment = try directory.open()
    defer { environment.close() }
    #expect(environment.maxKeySize == 511)
    let key = [UInt8](repeating: 0xFF, count: size)
    let isAllowed = 1...511 ~= size
    let transaction = try environment.beginWrite()
    #expect(code { () throws(LMDBError) in try transaction.put([1], key) } == (isAllowed ? nil : .badValueSize))
    #expect(
      code { () throws(LMDBError) in _ = try transaction.upsert([1], key) } == (isAllowed ? nil : .badValueSize))
    try transaction.put([2], [2])
    try transaction.commit()
    #expect(try environment.value([2]) == [2])
    if size == 0 {
      #expect(code { () throws(LMDBError) in _ = try environment.value(key) } == .badValueSize)
    } else {
      #expect(try environment.value(key) == (isAllowed ? [1] : nil))
    }
    try environment.withReadTransaction { transaction throws(LMDBError) in
      var found: [[UInt8]?] = []
      let failure = code { () throws(LMDBError) in found = try transaction.values([[2], key, [3]]) }
      #expect(failure == (size == 0 ? .badValueSize : nil))
      let expected: [[UInt8]?] = size == 0 ? [] : [[2], isAllowed ? [1] : nil, nil]
      #expect(found == expected)
    }
  }

  @Test func writesAreSeenByTheirTransactionOnlyUntilTheCommit() throws {
    let environment = try directory.open()
    defer { environment.close() }
    func dropped() throws(LMDBError) {
      let transaction = try environment.beginWrite()
      try transaction.put([2], [2])
    }
    try dropped()
    let transaction = try environment.beginWrite()
    #expect(code { () throws(LMDBError) in _ = try environment.beginWrite() } == .busy)
    #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .busy)
    try transaction.put([1], [1])
    #expect(try transaction.value([1]) == [1])
    #expect(try environment.value([1]) == nil)
    let id = transaction.id
    try transaction.commit()
    #expect(try environment.value([1]) == [1])
    #expect(try environment.value([2]) == nil)
    #expect(environment.lastTransactionID == id && environment.lastPosition() == id)
    #expect(try environment.info().lastTransactionID == id)
    #expect(try environment.withReadTransaction { transaction throws(LMDBError) in transaction.id } == id)
  }

  @Test func namedDatabases() throws {
    let environment = try directory.open { $0.maxDatabases = 2 }
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
    environment.close()
    let reader = try directory.open { ($0.isReadOnly, $0.maxDatabases) = (true, 2) }
    defer { reader.close() }
    #expect(code { () throws(LMDBError) in _ = try reader.beginWrite() } == .permissionDenied)
    #expect(code { () throws(LMDBError) in _ = try reader.openDatabase(named: "three") } == .notFound)
    #expect(code { () throws(LMDBError) in try reader.sync(force: true) } == .permissionDenied)
    #expect(try reader.value([9]) == nil)
  }

  #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    @Test func committingOnAnotherThreadTraps() async {
      await #expect(processExitsWith: .failure) {
        let directory = TemporaryDirectory()
        let environment = try directory.open()
        nonisolated(unsafe) let place = UnsafeMutablePointer<WriteTransaction>.allocate(capacity: 1)
        concurrently(1) { _ in place.initialize(to: try! environment.beginWrite()) }
        try place.move().commit()
      }
    }
  #endif
}
