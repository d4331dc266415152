import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ValueLogStormTests {
  let directory = CacheDirectory()

  private func open() throws -> LMDBCache {
    try directory.open {
      $0.disk.inlineThreshold = 100
      $0.disk.valueSegmentSize = 64 << 10
      $0.disk.groupCommitInterval = .milliseconds(1)
      $0.memory.countLimit = 0
    }
  }

  private func value(_ number: Int, round: Int) -> Data {
    var random = SeededRandom(UInt64(number &* 1_000 &+ round))
    // Makes some reads use the map.
    return Data(random.bytes(round % 9 == 0 ? 20_000 : 4_000))
  }

  @Test func threadsAndSweepsAgree() async throws {
    let cache = try open()
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          var random = SeededRandom(UInt64(thread))
          let own = (0..<10).map { $0 * 4 + thread }
          var expected: [Int: Data] = [:]
          for round in 0..<150 {
            let number = Int.random(in: 0..<10, using: &random) * 4 + thread
            #expect(throws: Never.self) {
              if round % 5 == 4 {
                try cache.removeValue(forKey: "key\(number)")
                expected[number] = nil
              } else {
                try cache.set(value(number, round: round), forKey: "key\(number)")
                expected[number] = value(number, round: round)
                #expect(try cache.value(Data.self, forKey: "key\(number)") == value(number, round: round))
              }
              if round % 30 == 7 { try cache.sweepValues() }
              if round % 3 == 1 {
                let found = try cache.values(Data.self, forKeys: own.map { "key\($0)" })
                #expect(found == own.map { expected[$0] })
              }
            }
          }
        }
      }
    }
    try await cache.flush()
    try cache.sweepValues()
    for entry in try cache.entries() { #expect(try cache.value(Data.self, forKey: entry.key) != nil) }
    #expect(try cache.valueLogFaults() == [])
    try await cache.close()
  }
}
