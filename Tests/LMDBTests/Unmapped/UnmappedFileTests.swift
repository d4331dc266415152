import LMDB
import Platform
import TestSupport
import Testing

/// Unmapped reads find what LMDB finds.
@Suite struct UnmappedFileTests {
  let directory = TemporaryDirectory()

  private func file() throws -> UnmappedFile {
    try #require(try UnmappedFile.open(Directory(path: directory.path)))
  }

  /// Keys of all lengths, values in leaves and in overflow pages; some are removed again.
  private func fill(_ environment: Environment, count: Int, seed: UInt64) throws {
    var random = SeededRandom(seed)
    for round in 0..<3 {
      let transaction = try environment.beginWrite()
      for index in 0..<count {
        let key = [UInt8(index % 7)] + random.bytes(random.below(round == 1 ? 510 : 30))
        let size = random.below(40) == 0 ? random.below(20_000) : random.below(120)
        try transaction.put(random.bytes(size), key)
      }
      for pair in try transaction.all() where random.below(4) == 0 { _ = try transaction.remove(pair.key) }
      try transaction.commit()
    }
  }

  @Test(arguments: [0, 1, 3, 60, 2_000]) func allEntriesAreFoundInTheirOrder(_ count: Int) throws {
    let environment = try directory.open()
    defer { environment.close() }
    try fill(environment, count: count, seed: UInt64(count))
    let expected = try environment.withReadTransaction { (txn) throws(LMDBError) in try txn.all() }
    let file = try file()
    #expect(try file.all() == expected)
    #expect(try file.lastTransactionID() == environment.lastTransactionID)
    let figures = try file.read { $0.figures }
    let info = try environment.info()
    #expect(figures.entries == info.entries && figures.leafPages == info.leafPages && figures.depth == info.depth)
    #expect(figures.pages == info.lastPageNumber + 1 && figures.pageSize == info.pageSize)
    #expect(figures.mapSize == info.mapSize)
  }

  @Test func aSearchEndsWhereLMDBsDoes() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try fill(environment, count: 1_500, seed: 5)
    let pairs = try environment.withReadTransaction { (txn) throws(LMDBError) in try txn.all() }
    var random = SeededRandom(6)
    let keys = (0..<1_000).map { _ in
      random.below(2) == 0
        ? pairs[random.below(pairs.count)].key : [UInt8(random.below(8))] + random.bytes(random.below(12))
    }
    let file = try file()
    let expected = try environment.withReadTransaction { (txn) throws(LMDBError) in
      try txn.withCursor { (cursor) throws(LMDBError) in
        try keys.map { (key) throws(LMDBError) in try cursor.seek(key)?.key }
      }
    }
    let found = try file.read { (state) throws(DataFileError) in
      let cursor = try UnmappedCursor(state)
      return try keys.map { (key) throws(DataFileError) in try cursor.seek(key) }
    }
    #expect(found == expected)
    let values = try file.read { (state) throws(DataFileError) in
      let cursor = try UnmappedCursor(state)
      return try keys.map { (key) throws(DataFileError) in try cursor.value(key) }
    }
    let byKey = Dictionary(uniqueKeysWithValues: pairs.map { ($0.key, $0.value) })
    #expect(values == keys.map { byKey[$0] })
  }

  @Test func behindTheLastEntryThereIsNothingHoweverOftenItIsAsked() throws {
    let environment = try directory.open()
    defer { environment.close() }
    try fill(environment, count: 300, seed: 9)
    try file().read { (state) throws(DataFileError) in
      let cursor = try UnmappedCursor(state)
      #expect(try cursor.seek([255, 255]) == nil)
      for _ in 0..<3 { #expect(try cursor.next() == nil) }
      #expect(try cursor.first() != nil)
    }
  }

  @Test func withoutAFileThereIsNone() throws {
    let place = try Directory(path: directory.path)
    #expect(try UnmappedFile.open(place) == nil)
    _ = try place.create("data.mdb", .exclusively)
    #expect(try UnmappedFile.open(place) == nil)
  }

  /// A state that changed during `body` is read again, and `body` sees the attempt count.
  @Test func aStateThatHasPassedIsNotBelieved() throws {
    let environment = try directory.open()
    defer { environment.close() }
    for round in 0..<10 { try environment.put([UInt8(round)], [1]) }
    var attempts: [Int] = []
    let seen = try file().read { (state) throws(DataFileError) in
      attempts.append(state.attempt)
      let value = try UnmappedCursor(state).value([1])
      // Commits twice during each attempt but the last.
      if state.attempt < 3 {
        do throws(LMDBError) {
          for _ in 0..<2 { try environment.put([UInt8(100 + state.attempt)], [1]) }
        } catch {
          throw .unreadable(error)
        }
      }
      return value
    }
    #expect(attempts == [0, 1, 2, 3])
    #expect(seen == [102])
  }

  /// One commit overwrites no page of the previous state.
  @Test func oneTransactionInTheMiddleOfItDoesNotMatter() throws {
    let environment = try directory.open()
    defer { environment.close() }
    for round in 0..<10 { try environment.put([UInt8(round)], [1]) }
    var attempts = 0
    let seen = try file().read { (state) throws(DataFileError) in
      attempts += 1
      do throws(LMDBError) { try environment.put([77], [1]) } catch { throw .unreadable(error) }
      return try UnmappedCursor(state).value([1])
    }
    #expect(attempts == 1 && seen == [9])
  }
}
