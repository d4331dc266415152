import Foundation
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// A cache with its values in the log, in 64 KiB segments of about a dozen values each.
struct LoggedValues {
  let directory = CacheDirectory()
  let clock = ManualClock()

  func open(
    _ directory: CacheDirectory? = nil, _ change: (inout CacheConfiguration) -> Void = { _ in }
  ) throws -> LMDBCache {
    try (directory ?? self.directory).open {
      $0.disk.inlineThreshold = 100
      $0.disk.valueSegmentSize = 64 << 10
      $0.memory.countLimit = 0
      $0.clock = .manual(clock)
      change(&$0)
    }
  }

  func value(_ number: Int, round: Int = 0) -> Data {
    var random = SeededRandom(UInt64(number &* 1_000 &+ round))
    return Data(random.bytes(4_000 + number % 7 * 100))
  }

  func fill(_ cache: LMDBCache, _ numbers: Range<Int>, round: Int = 0) throws {
    for number in numbers { try cache.set(value(number, round: round), forKey: "key\(number)") }
  }

  func expect(_ cache: LMDBCache, _ numbers: some Sequence<Int>, round: Int = 0) throws {
    for number in numbers {
      #expect(try cache.value(Data.self, forKey: "key\(number)") == value(number, round: round), "\(number)")
    }
  }

  /// A log in the directory, without a cache.
  func log() throws -> ValueLog {
    ValueLog(CurrentDirectory(try Directory(path: directory.path)), durability: .ordered, segmentSize: 1 << 20)
  }

  func append(_ number: Int, to log: ValueLog) throws -> AppendedValue {
    try value(number).withBytes { value in
      try Array("key".utf8).withBytes { try log.append(value, key: $0, owner: 1) }
    }
  }

  func expectCountsAreRight(_ cache: LMDBCache) throws {
    #expect(try cache.valueLogFaults() == [])
  }
}
