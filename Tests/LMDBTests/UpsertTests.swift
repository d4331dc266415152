import LMDB
import TestSupport
import Testing

@Suite struct UpsertTests {
  let directory = TemporaryDirectory()

  @Test func keepsThePresentValueIfTold() throws {
    let environment = try directory.open()
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    var (existed, old) = try transaction.upsert([1, 2], [1], replaces: false)
    #expect(!existed && old == nil)
    (existed, old) = try transaction.upsert([3], [1], replaces: false)
    #expect(existed && old == [1, 2])
    #expect(try transaction.value([1]) == [1, 2])
    (existed, old) = try transaction.upsert([], [1])
    #expect(existed && old == [1, 2])
    #expect(try transaction.value([1]) == [])
    try transaction.commit()
  }

  /// Changes of every size and position, mixed with other writes, in many transactions.
  @Test(arguments: [21, 22, 23, 24, 25, 26])
  func againstADictionary(seed: UInt64) throws {
    let environment = try directory.open()
    defer { environment.close() }
    var random = SeededRandom(seed)
    var committed: [[UInt8]: [UInt8]] = [:]
    for round in 0..<30 {
      var oracle = committed
      let transaction = try environment.beginWrite()
      var keys = (0..<150).map { _ in random.bytes(Int.random(in: 1...3, using: &random)).map { $0 & 15 } }
      if round % 3 == 0 {
        keys.sort { $0.lexicographicallyPrecedes($1) }
      }
      for key in keys {
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
          #expect(try transaction.remove(key) == (oracle.removeValue(forKey: key) != nil))
        case 1:
          let value = random.bytes(Int.random(in: 0...100, using: &random))
          try transaction.put(value, key)
          oracle[key] = value
        case 2 where round % 10 == 9:
          try transaction.removeAll()
          oracle = [:]
        default:
          let size =
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1: oracle[key]?.count ?? 64
            case 2: 0
            case 3: Int.random(in: 5_000...40_000, using: &random)
            case 4: Int.random(in: 1_900...2_100, using: &random)
            default: Int.random(in: 1...300, using: &random)
            }
          let value = random.bytes(size)
          let replaces = Int.random(in: 0..<5, using: &random) != 0
          let (existed, old) = try transaction.upsert(value, key, replaces: replaces)
          #expect(old == oracle[key])
          #expect(existed == (oracle[key] != nil))
          if !existed || replaces {
            oracle[key] = value
          }
        }
      }
      let sorted = oracle.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Pair($0.key, $0.value) }
      #expect(try transaction.all() == sorted)
      if round % 4 == 3 {
        transaction.abort()
      } else {
        try transaction.commit()
        committed = oracle
      }
    }
    let sorted = committed.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Pair($0.key, $0.value) }
    #expect(try environment.withReadTransaction { transaction throws(LMDBError) in try transaction.all() } == sorted)
  }
}
