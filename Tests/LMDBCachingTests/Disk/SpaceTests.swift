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

    /// Holes are made where no snapshot of any process sees a page, and are used again.
    @Test(arguments: [0, 8]) func whatIsFreeTakesNoSpace(_ kept: Int) throws {
      let cache = try open()
      try cache.set("old", forKey: "text")
      try fill(cache)
      let other = try cacheProcess()
      #expect(other.run("open \(directory.path)") == "ok")
      #expect(other.run("snapshot text") == "held")
      if kept == 0 { try cache.removeAll() } else { try cache.trim(to: .count(kept)) }
      try cache.flush()
      for _ in 0..<10 {
        clock.advance(by: .seconds(2))
        try cache.store.writer.run {}
      }
      #expect(try allocated > 30_000_000)
      #expect(other.run("release") == "old")
      let isFree = eventually {
        clock.advance(by: .seconds(2))
        return ((try? allocated) ?? .max) < 8 << 20
      }
      #expect(isFree && other.run("close") == "ok")
      try cache.close()
      // The mark describes the file after shrinking.
      let reopened = try open()
      #expect(reopened.recovery == nil)
      #expect(try reopened.count == kept)
      for number in 100 - kept..<100 {
        #expect(try reopened.value(Data.self, forKey: "key\(number)") == value(number))
      }
      try fill(reopened)
      try reopened.close()
      _ = try CacheInspection.verify(directory: directory.url)
    }
  }
#endif
