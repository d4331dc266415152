#if os(Linux)
  import Foundation
  import Platform
  import TestSupport
  import Testing

  @testable import LMDBCaching

  @Suite struct SpaceTests {
    let directory = CacheDirectory()
    let clock = ManualClock()

    private func open() throws -> LMDBCache {
      try directory.open {
        $0.clock = .manual(clock); $0.disk.inlineThreshold = 1 << 30
      }
    }

    private func value(_ number: Int) -> Data { Data(repeating: UInt8(truncatingIfNeeded: number), count: 300_000) }

    private func fill(_ cache: LMDBCache) throws {
      for number in 0..<100 { try cache.set(value(number), forKey: "key\(number)") }
      try cache.flush()
    }

    private var allocated: Int {
      get throws { try #require(try Directory(path: directory.path).status(of: "data.mdb")).allocatedBytes }
    }

    private func becomesSmall() -> Bool {
      eventually {
        clock.advance(by: .seconds(2))
        return ((try? allocated) ?? .max) < 8 << 20
      }
    }

    @Test func afterARemovalOfEverything() throws {
      let cache = try open()
      try fill(cache)
      #expect(try allocated > 30_000_000)
      try cache.removeAll()
      try cache.flush()
      #expect(becomesSmall())
      try fill(cache)
      for number in 0..<100 {
        #expect(try cache.withoutMemory.value(Data.self, forKey: "key\(number)") == value(number))
      }
      try cache.close()
      _ = try CacheInspection.verify(directory: directory.url)
    }

    @Test func afterATrim() throws {
      let cache = try open()
      try fill(cache)
      try cache.trim(to: .count(8))
      #expect(becomesSmall())
      for number in 92..<100 {
        #expect(try cache.withoutMemory.value(Data.self, forKey: "key\(number)") == value(number))
      }
      try cache.close()
      // The mark describes the file after shrinking.
      let reopened = try open()
      #expect(reopened.recovery == nil)
      #expect(try reopened.count == 8)
      try reopened.close()
    }

    @Test func aSnapshotOfAnotherProcessIsLeftAlone() throws {
      let cache = try open()
      try cache.set("old", forKey: "text")
      try fill(cache)
      let other = try cacheProcess()
      #expect(other.run("open \(directory.path)") == "ok")
      #expect(other.run("snapshot text") == "held")
      try cache.removeAll()
      try cache.flush()
      for _ in 0..<10 {
        clock.advance(by: .seconds(2))
        try cache.store.writer.run {}
      }
      #expect(try allocated > 30_000_000)
      #expect(other.run("release") == "old")
      #expect(becomesSmall())
      #expect(other.run("get text") == "nil")
      #expect(other.run("close") == "ok")
      try cache.close()
    }
  }
#endif
