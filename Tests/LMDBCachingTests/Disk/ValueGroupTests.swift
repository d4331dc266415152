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
}
