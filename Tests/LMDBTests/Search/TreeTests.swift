import TestSupport
import Testing

@testable import LMDB

/// The tree search, checked against a dictionary.
@Suite struct TreeTests {
  let directory = TemporaryDirectory()

  /// Keys with shared prefixes, keys that are prefixes of others, and zeros, of all lengths.
  private static func key(_ random: inout SeededRandom) -> [UInt8] {
    let beginnings: [[UInt8]] = [
      [], bytes("user/"), bytes("https://example.com/images/"), [0, 0, 0, 0, 0, 0, 0, 0], [0xFF],
      [UInt8](repeating: 7, count: 400),
    ]
    let beginning = beginnings[Int.random(in: 0..<beginnings.count, using: &random)]
    let end = (0..<Int.random(in: 0...18, using: &random)).map { _ in UInt8.random(in: 0...3, using: &random) }
    let key = beginning + end
    return key.isEmpty ? [1] : key
  }

  private static func value(_ random: inout SeededRandom) -> [UInt8] {
    // Some get overflow pages.
    random.bytes([0, 3, 100, 100, 500, 2_500, 9_000][Int.random(in: 0..<7, using: &random)])
  }

  @Test(arguments: [1, 2, 3] as [UInt64]) func findsWhatThereIs(seed: UInt64) throws {
    let environment = try directory.open()
    defer { environment.close() }
    var random = SeededRandom(seed)
    var model: [[UInt8]: [UInt8]] = [:]
    for round in 0..<60 {
      let transaction = try environment.beginWrite()
      for _ in 0..<(round % 5 == 0 ? 400 : 30) {
        let key = Self.key(&random)
        if Int.random(in: 0..<4, using: &random) == 0 {
          #expect(try transaction.remove(key) == (model.removeValue(forKey: key) != nil))
        } else {
          let value = Self.value(&random)
          try transaction.put(value, key)
          model[key] = value
        }
      }
      try transaction.commit()
      if round == 30 { try environment.growMap(to: 128 << 20) }
      // Present keys with hints of all ages, and absent ones.
      let keys = (0..<200).map { _ in Self.key(&random) } + model.keys.sorted(by: isInOrder)
      try environment.withReadTransaction { (transaction) throws(LMDBError) in
        var wrong: [[UInt8]] = []
        for key in keys where !areEqual(try transaction.value(key), model[key]) { wrong.append(key) }
        for start in stride(from: 0, to: keys.count, by: 31) {
          let group = Array(keys[start..<min(start + 31, keys.count)])
          let values = try transaction.values(group)
          #expect(values.count == group.count)
          for (key, value) in zip(group, values) where !areEqual(value, model[key]) { wrong.append(key) }
        }
        #expect(wrong == [])
      }
      // By this search, not by LMDB's.
      try environment.withOwnSearch(knownKey: keys[keys.count - 1]) { value in
        #expect(keys.filter { !areEqual(value($0), model[$0]) } == [])
      }
    }
    #expect(try environment.info().main.depth >= 3)
  }

  /// Inserts before known keys, so that hints point elsewhere.
  @Test func hintsOutliveChanges() throws {
    let environment = try directory.open()
    defer { environment.close() }
    func number(_ index: Int) -> [UInt8] { bytes("key \(1_000_000 + index)") }
    for first in [1, 0] {
      let transaction = try environment.beginWrite()
      for index in stride(from: first, to: 20_000, by: 2) { try transaction.put(number(index), number(index)) }
      try transaction.commit()
      try environment.withOwnSearch(knownKey: number(first)) { value in
        for _ in 0..<2 {
          for index in stride(from: first, to: 20_000, by: 2) { #expect(value(number(index)) == number(index)) }
        }
      }
    }
    #expect(environment.control.pointee.hints.capacity > 8_000)
    let transaction = try environment.beginWrite()
    for index in stride(from: 0, to: 20_000, by: 3) { #expect(try transaction.remove(number(index))) }
    try transaction.commit()
    try environment.withOwnSearch(knownKey: number(1)) { value in
      for index in 0..<20_000 { #expect(value(number(index)) == (index % 3 == 0 ? nil : number(index))) }
    }
  }

  /// The meta page of an older snapshot may be overwritten by a commit that fails.
  @Test func theTreeOfAnOlderTransactionIsNotLookedUp() throws {
    let environment = try directory.open()
    defer { environment.close() }
    func write() throws {
      let transaction = try environment.beginWrite()
      try transaction.put([1], bytes("key"))
      try transaction.commit()
    }
    try write()
    let last = environment.lastTransactionID
    #expect(environment.control.pointee.metaPages.mainTree(of: last) != nil)
    try write()
    #expect(environment.control.pointee.metaPages.mainTree(of: last) == nil)
    #expect(environment.control.pointee.metaPages.mainTree(of: last + 1) != nil)
    #expect(environment.control.pointee.metaPages.mainTree(of: last + 2) == nil)
  }
}

extension Environment {
  /// Runs `body` with this search in a snapshot, even while other tests inject failures and reads fall back to LMDB.
  fileprivate func withOwnSearch(knownKey: [UInt8], _ body: (_ value: ([UInt8]) -> [UInt8]?) -> Void) throws {
    try withReadTransaction { (transaction) throws(LMDBError) in
      guard let tree = try learnedTree(of: transaction, knownKey) else {
        Issue.record("The map is not known")
        return
      }
      body { key in
        key.withUnsafeBytes { bytes in
          switch tree.find(bytes) {
          case .value(let value): return [UInt8](value)
          case .absent: return nil
          case .unknown:
            Issue.record("LMDB was asked")
            return nil
          }
        }
      }
    }
  }

  private func learnedTree(
    of transaction: borrowing ReadTransaction, _ key: [UInt8]
  ) throws(LMDBError) -> Tree? {
    try withBytes(key) { (key) throws(LMDBError) in
      if let value = try transaction.findByLMDB(key, in: .main) {
        control.pointee.learnMap(of: value, transaction.handle)
      }
    }
    return Tree(of: transaction.handle, control)
  }
}
