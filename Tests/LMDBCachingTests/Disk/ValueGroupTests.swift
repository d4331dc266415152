import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ValueGroupTests {
  let values = LoggedValues()
  private var directory: CacheDirectory { values.directory }

  /// Lengths around each limit: inline in the database, in a group, in a segment of its own.
  static let lengths = [
    0, 1, 90, 95, 96, 97, 112, 113, 4_000, 16_000, 16_384, 20_000, ValueGroup.longestValue - 100,
    ValueGroup.longestValue - 8, ValueGroup.longestValue - 4, ValueGroup.longestValue, 300_000,
  ]

  private func bytes(_ number: Int, round: Int = 0) -> Data {
    let length = Self.lengths[number % Self.lengths.count]
    return Data("\(number)/\(round);".utf8) + Data(repeating: UInt8(number % 256), count: length)
  }

  private func key(_ number: Int) -> String {
    // Some keys are longer than LMDB allows.
    "key\(number)" + String(repeating: "k", count: number % 5 == 0 ? 700 : number % 16)
  }

  private func expect(_ cache: LMDBCache, _ numbers: Range<Int>, round: Int, _ comment: Comment) throws {
    for number in numbers {
      #expect(try cache.value(Data.self, forKey: key(number)) == bytes(number, round: round), comment)
    }
  }

  @Test(arguments: Durability.allCases, [64 << 10, 1 << 20])
  func everyValueIsWhereItsEntrySays(_ durability: Durability, segmentSize: Int) throws {
    func configure(_ configuration: inout CacheConfiguration) {
      configuration.durability = durability
      configuration.disk.valueSegmentSize = segmentSize
    }
    let cache = try values.open { configure(&$0) }
    for (round, waits) in [false, true].enumerated() {
      try cache.write(waitsForCommit: waits) { batch in
        for number in 0..<100 {
          // The last value of a key wins.
          if number % 3 == 0 { batch.set(bytes(number, round: 99), forKey: key(number)) }
          batch.set(
            bytes(number, round: round), forKey: key(number), expires: number % 2 == 0 ? .after(.seconds(100)) : .never)
        }
        for number in 100..<110 {
          batch.set(bytes(number), forKey: key(number))
          batch.removeValue(forKey: key(number))
        }
      }
      try expect(cache, 0..<100, round: round, "as written")
      for number in 100..<110 { #expect(try cache.value(Data.self, forKey: key(number)) == nil) }
      try cache.flush()
      try expect(cache, 0..<100, round: round, "committed")
      #expect(try cache.count == 100)
    }
    try cache.sweepValues()
    try values.expectCountsAreRight(cache)
    try expect(cache, 0..<100, round: 1, "after a sweep")
    try cache.close()
    let reopened = try values.open {
      configure(&$0)
      $0.disk.verification = .always
    }
    try expect(reopened, 0..<100, round: 1, "opened again")
    try values.expectCountsAreRight(reopened)
    try reopened.close()
  }

  /// A batch is all or nothing.
  @Test(arguments: [FaultInjection.Call.pwrite, .fallocate], 0..<4)
  func aBatchThatCannotBeWrittenChangesNothing(_ call: FaultInjection.Call, after calls: Int) throws {
    let cache = try values.open { $0.disk.valueSegmentSize = 1 << 20 }
    try cache.write(waitsForCommit: true) { batch in
      for number in 0..<50 { batch.set(bytes(number), forKey: key(number)) }
    }
    let session = FaultInjection.begin(
      .directory(directory.path + "/values"), [.init(call, returns: ENOSPC, first: calls + 1, count: .max)])
    #expect {
      try cache.write { batch in
        for number in 0..<200 { batch.set(bytes(number, round: 1), forKey: key(number)) }
      }
    } throws: {
      ($0 as? CacheError)?.code == .noSpace
    }
    FaultInjection.end(session)
    try expect(cache, 0..<50, round: 0, "as before")
    #expect(try cache.count == 50)
    try cache.write { batch in
      for number in 0..<200 { batch.set(bytes(number, round: 2), forKey: key(number)) }
    }
    try expect(cache, 0..<200, round: 2, "as it should have been")
    try cache.flush()
    try cache.sweepValues()
    try values.expectCountsAreRight(cache)
    try expect(cache, 0..<200, round: 2, "after a sweep")
    try cache.removeAll()
    try cache.flush()
    try cache.sweepValues()
    #expect(directory.segments.isEmpty, "what the batch that failed had written")
    try cache.close()
  }

  @Test func aBatchThatIsGivenUpLeavesNothing() throws {
    struct GivenUp: Error {}
    let cache = try values.open()
    #expect(throws: GivenUp.self) {
      try cache.write { batch in
        for number in 0..<100 { batch.set(bytes(number), forKey: key(number)) }
        throw GivenUp()
      }
    }
    #expect(try cache.count == 0)
    try cache.flush()
    try cache.sweepValues()
    try cache.close()
    #expect(directory.segments.isEmpty)
  }

  @Test func aKilledProcessesBatchIsWhole() throws {
    let other = try cacheProcess()
    #expect(other.run("open \(directory.path)") == "ok")
    #expect(other.run("batchof 300 5000") == "ok")
    other.kill()
    let cache = try directory.open()
    #expect(try cache.count == 300)
    for number in 0..<300 {
      #expect(try cache.value(String.self, forKey: "key\(number)") == payload("key\(number)", number, 5000))
    }
    try cache.close()
  }
}
