import LMDB
import TestSupport
import Testing

@Suite struct CursorTests {
  let directory = TemporaryDirectory()

  @Test func anEmptyDatabaseHasNoEntries() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try environment.withReadTransaction { transaction throws(LMDBError) in
      try transaction.withCursor { cursor throws(LMDBError) in
        #expect(try cursor.first() == nil)
        #expect(try cursor.last() == nil)
        #expect(try cursor.next() == nil)
        #expect(try cursor.previous() == nil)
        #expect(try cursor.current() == nil)
        #expect(try cursor.seek([1]) == nil)
      }
    }
  }

  @Test(arguments: [1, 2, 3])
  func orderIsThatOfTheBytes(seed: UInt64) throws {
    let environment = try directory.open()
    defer { environment.close() }
    var random = SeededRandom(seed)
    var oracle: [[UInt8]: [UInt8]] = [:]
    let transaction = try environment.beginWrite()
    for _ in 0..<2_000 {
      let key = random.bytes(Int.random(in: 1...12, using: &random))
      let value = random.bytes(Int.random(in: 0...40, using: &random))
      oracle[key] = value
      try transaction.put(value, key)
    }
    try transaction.commit()
    let sorted = oracle.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Pair($0.key, $0.value) }
    let probes = (0..<500).map { _ in random.bytes(Int.random(in: 1...6, using: &random)) }

    try environment.withReadTransaction { transaction throws(LMDBError) in
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
      }
    }
  }

  @Test func aReadersCursorDoesNotWrite() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try environment.put([1], [1])
    try environment.withReadTransaction { transaction throws(LMDBError) in
      try transaction.withCursor { cursor throws(LMDBError) in
        _ = try cursor.first()
        #expect(code { () throws(LMDBError) in try cursor.remove() } == .permissionDenied)
      }
    }
    #expect(try environment.value([1]) == [1])
  }

  @Test func changingWithoutAPosition() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try environment.put([1], [1])
    let transaction = try environment.beginWrite()
    try transaction.withCursor { cursor throws(LMDBError) in
      #expect(code { () throws(LMDBError) in try cursor.remove() } == .invalidArgument)
    }
    try transaction.commit()
    #expect(try environment.value([1]) == [1])
  }

  /// Removes while walking, checked against a dictionary.
  @Test(arguments: [11, 12, 13, 14])
  func walkingChanges(seed: UInt64) throws {
    let environment = try directory.open()
    defer { environment.close() }
    var random = SeededRandom(seed)
    var oracle: [[UInt8]: [UInt8]] = [:]
    for _ in 0..<3_000 {
      oracle[random.bytes(Int.random(in: 1...8, using: &random))] = random.bytes(
        Int.random(in: 0...300, using: &random))
    }
    let transaction = try environment.beginWrite()
    for (key, value) in oracle { try transaction.put(value, key) }
    try transaction.withCursor { cursor throws(LMDBError) in
      var visited = 0
      var entry = try cursor.first()
      while let present = entry {
        visited += 1
        let key = [UInt8](present.key)
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1:
          try cursor.remove()
          oracle[key] = nil
        default: break
        }
        entry = try cursor.next()
      }
      #expect(visited >= oracle.count)
    }
    let sorted = oracle.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Pair($0.key, $0.value) }
    #expect(try transaction.all() == sorted)
    try transaction.commit()
    #expect(try environment.withReadTransaction { transaction throws(LMDBError) in try transaction.all() } == sorted)
  }
}
