import Platform
import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite struct MapFullTests {
  let directory = CacheDirectory()

  static func text(_ index: Int) -> String { String(repeating: "m", count: 2_000) + String(index) }

  @Test func aFullMapGrowsAndKeepsEverything() throws {
    let cache = try directory.open {
      $0.disk.mapSize = 1 << 20; $0.disk.groupCommitInterval = .milliseconds(1)
    }
    for index in 0..<3_000 { try cache.set(Self.text(index), forKey: "key\(index)") }
    try cache.flush()
    cache.memory.removeAll()
    for index in 0..<3_000 { #expect(try cache.value(String.self, forKey: "key\(index)") == Self.text(index)) }
    #expect(try cache.count == 3_000)
    #expect(cache.health.isHealthy)
    try cache.close()
  }

  @Test func aBatchLargerThanTheMapGrowsIt() throws {
    let cache = try directory.open {
      $0.disk.mapSize = 1 << 20; $0.disk.inlineThreshold = 1 << 30
    }
    try cache.write { batch in
      for index in 0..<3_000 { batch.set(Self.text(index), forKey: "key\(index)") }
    }
    let large = Data(repeating: 1, count: 20 << 20)
    try cache.set(large, forKey: "large")
    cache.memory.removeAll()
    #expect(try cache.value(Data.self, forKey: "large") == large)
    #expect(try cache.count == 3_001)
    try cache.close()
  }

  @Test func aJournalLargerThanTheMapIsReplayed() throws {
    let cache = try directory.open {
      neverCommitting(&$0); $0.disk.mapSize = 1 << 20
    }
    for index in 0..<400 { try cache.set(Self.text(index), forKey: "key\(index)") }
    let crashed = directory.crashed(cache)
    try cache.close()
    let reopened = try crashed.open { $0.disk.mapSize = 1 << 20 }
    for index in 0..<400 { #expect(try reopened.value(String.self, forKey: "key\(index)") == Self.text(index)) }
    #expect(try reopened.count == 400)
    try reopened.close()
  }

  @Test func aMapThatCannotGrowEvicts() throws {
    let cache = try directory.open { configuration in
      configuration.disk.mapSize = 4 << 20
      configuration.disk.journalSize = 256 << 10
      configuration.disk.groupCommitInterval = .milliseconds(1)
    }
    let session = FaultInjection.begin(
      .directory(directory.path), [.init(.envGetDescriptor, returns: ENOMEM, count: .max)])
    defer { FaultInjection.end(session) }
    let isDone = finishes(within: 60) {
      for index in 0..<4_000 {
        do { try cache.set(Self.text(index), forKey: "key\(index)") } catch { Issue.record(error) }
        if index % 100 == 0 { _ = try? cache.flush() }
      }
    }
    #expect(isDone)
    // Recent entries remain; evicted ones are absent, not mixed up.
    cache.memory.removeAll()
    for index in 0..<4_000 {
      let value = try cache.value(String.self, forKey: "key\(index)")
      #expect(value == nil || value == Self.text(index))
    }
    #expect(eventually { (try? cache.flush()) != nil && cache.health.isHealthy })
    try cache.set("last", forKey: "key")
    try cache.flush()
    #expect(try cache.value(String.self, forKey: "key") == "last")
    #expect(cache.statistics.diskEvictions > 0)
    #expect(try cache.entries().count == cache.count)
    try cache.close()
  }
}
