#if os(Linux)
  import Foundation
  import LMDB
  import Platform
  import TestSupport
  import Testing

  @testable import LMDBCaching

  @Suite struct JournalBlocksTests {
    let directory = CacheDirectory()
    let clock = ManualClock()

    private func open() throws -> LMDBCache {
      try directory.open {
        $0.clock = .manual(clock)
        $0.disk.inlineThreshold = 1 << 20
        $0.memory.countLimit = 0
      }
    }

    /// The journal's allocated bytes.
    private var allocated: Int {
      get throws {
        let folder = try #require(try Directory(path: directory.path).subdirectory(JournalName.folder))
        return try folder.names().reduce(0) { $0 + (try folder.status(of: $1)?.allocatedBytes ?? 0) }
      }
    }

    private func value(_ number: Int) -> String { payload("key", number, 900 + number % 200) }

    private func expect(_ cache: LMDBCache, _ numbers: Range<Int>) throws {
      for number in numbers { #expect(try cache.value(String.self, forKey: "key\(number)") == value(number)) }
      cache._checkInvariants()
    }

    /// Writes twelve megabytes without a commit, in three of the four segments.
    private func grow(_ cache: LMDBCache) throws {
      let writer = HeldWriter(cache.store)
      defer { writer.release() }
      for number in 1..<13_000 { try cache.set(value(number), forKey: "key\(number)") }
      try expect(cache, 1..<13_000)
      #expect(try allocated > 12 << 20)
    }

    @Test func aJournalGrowsWithWhatIsWritten() throws {
      let cache = try open()
      for _ in 0..<2 {
        try cache.set(value(0), forKey: "key0")
        #expect(try allocated < 5 << 20)
        try grow(cache)
        try cache.flush()
        let isSmall = eventually {
          clock.advance(by: .seconds(2))
          return ((try? allocated) ?? .max) < 5 << 20
        }
        #expect(isSmall)
      }
      try grow(cache)
      let crashed = directory.crashed(cache)
      try expect(cache, 0..<13_000)
      try cache.close()
      let reopened = try crashed.open { $0.memory.countLimit = 0 }
      try expect(reopened, 0..<13_000)
      try reopened.close()
    }
  }
#endif
