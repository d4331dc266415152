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

    private func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
      try directory.open {
        $0.clock = .manual(clock)
        $0.disk.inlineThreshold = 1 << 20
        $0.memory.countLimit = 0
        change(&$0)
      }
    }

    /// The journal's allocated bytes.
    private var allocated: Int {
      get throws {
        let folder = try #require(try Directory(path: directory.path).subdirectory(JournalName.folder))
        return try folder.names().reduce(0) { $0 + (try folder.status(of: $1)?.allocatedBytes ?? 0) }
      }
    }

    private func value(_ number: Int) -> Data {
      var random = SeededRandom(UInt64(number))
      return Data(random.bytes(900 + number % 200))
    }

    private func fill(_ cache: LMDBCache, _ numbers: Range<Int>) throws {
      for number in numbers { try cache.set(value(number), forKey: "key\(number)") }
    }

    private func expect(_ cache: LMDBCache, _ numbers: Range<Int>) throws {
      for number in numbers {
        let found = try cache.value(Data.self, forKey: "key\(number)")
        #expect(found == value(number), "\(number)")
      }
      cache._checkInvariants()
    }

    /// Prevents commits while `body` runs, so the journal must hold everything.
    private func withoutCommits(_ cache: LMDBCache, _ body: () throws -> Void) throws {
      let (begun, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      cache.store.enqueueOnWriterThread {
        begun.signal()
        done.wait()
      }
      begun.wait()
      defer { done.signal() }
      try body()
    }

    /// Writes twelve megabytes, in three of the four segments.
    private func grow(_ cache: LMDBCache) throws {
      try withoutCommits(cache) {
        try fill(cache, 1..<13_000)
        try expect(cache, 1..<13_000)
        #expect(try allocated > 12 << 20)
      }
    }

    @Test func aJournalGrowsWithWhatIsWritten() throws {
      let cache = try open()
      for _ in 0..<2 {
        try fill(cache, 0..<1)
        #expect(try allocated < 5 << 20)
        try grow(cache)
        try cache.flush()
        #expect(
          eventually {
            clock.advance(by: .seconds(2))
            return ((try? allocated) ?? .max) < 5 << 20
          })
      }
      cache._checkInvariants()
      try grow(cache)
      let crashed = directory.crashed(cache)
      try expect(cache, 0..<13_000)
      try cache.close()
      let reopened = try crashed.open { $0.memory.countLimit = 0 }
      try expect(reopened, 0..<13_000)
      try reopened.close()
    }

    /// Even occasional small writes keep the blocks.
    @Test func whatIsInUseIsKept() throws {
      let cache = try open()
      try grow(cache)
      for number in 0..<20 {
        try fill(cache, number..<number + 1)
        try cache.flush()
        clock.advance(by: .seconds(2))
        try cache.store.onWriterThread { .success(()) }
      }
      #expect(try allocated > 12 << 20)
      try cache.close()
    }

    /// Writes that do not fit go to memory or are committed at once.
    @Test func onADiskThatIsFull() throws {
      let cache = try open { neverCommitting(&$0) }
      try fill(cache, 0..<100)
      try cache.flush()
      try cache.giveBackSpace()
      // The active segment goes first.
      for _ in 0..<4 {
        try fill(cache, 0..<100)
        try cache.flush()
        try cache.giveBackSpace()
      }
      let idle = try allocated
      #expect(idle < 1 << 20)
      let session = FaultInjection.begin(
        .directory(directory.path + "/journals"), [.init(.fallocate, returns: ENOSPC, count: .max)])
      try fill(cache, 100..<4_000)
      try expect(cache, 0..<4_000)
      // Longer than any segment's space.
      let long = Data(repeating: 7, count: 700_000)
      try cache.set(long, forKey: "long")
      try cache.write { batch in for number in 4_000..<6_000 { batch.set(value(number), forKey: "key\(number)") } }
      #expect(try allocated == idle)
      #expect(FaultInjection.end(session).triggered > 0)
      try expect(cache, 0..<6_000)
      #expect(try cache.value(Data.self, forKey: "long") == long)
      try cache.flush()
      #expect(cache.health.isHealthy)
      try fill(cache, 6_000..<12_000)
      let crashed = directory.crashed(cache)
      try cache.close()
      let reopened = try crashed.open { $0.memory.countLimit = 0 }
      try expect(reopened, 0..<12_000)
      #expect(try reopened.value(Data.self, forKey: "long") == long)
      try reopened.close()
    }

    @Test(arguments: [1 as UInt64, 2, 3]) func atAnyMoment(_ seed: UInt64) throws {
      var random = SeededRandom(seed)
      let cache = try open {
        $0.disk.journalSize = 256 << 10
        $0.disk.groupCommitInterval = .milliseconds(Int(seed))
      }
      var latest: [String: Data] = [:]
      for number in 0..<3_000 {
        let key = "key\(random.below(50))"
        let data = Data(random.bytes(random.below(random.below(20) == 0 ? 60_000 : 900)))
        try cache.set(data, forKey: key)
        latest[key] = data
        if number % 97 == 0 { try cache.giveBackSpace() }
        if number % 101 == 0 { cache._checkInvariants() }
        if number % 13 == 0 { clock.advance(by: .milliseconds(5)) }
      }
      let crashed = directory.crashed(cache)
      try cache.close()
      for place in [directory, crashed] {
        let reopened = try place.open()
        for (key, data) in latest { #expect(try reopened.value(Data.self, forKey: key) == data) }
        try reopened.close()
      }
    }
  }
#endif
