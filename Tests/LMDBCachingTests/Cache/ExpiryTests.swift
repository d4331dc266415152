import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ExpiryTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    try directory.open { configuration in
      neverCommitting(&configuration)
      configuration.clock = .manual(clock)
      configuration.disk.inlineThreshold = 1_000
      change(&configuration)
    }
  }

  func expect(
    _ key: String, in cache: LMDBCache, isLive: Bool, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try (cache.value(String.self, forKey: key) != nil) == isLive, sourceLocation: sourceLocation)
    #expect(try (cache.withoutMemory.value(String.self, forKey: key) != nil) == isLive, sourceLocation: sourceLocation)
    #expect(try (cache.object(forKey: key) != nil) == isLive, sourceLocation: sourceLocation)
    #expect(try cache.contains(key) == isLive, sourceLocation: sourceLocation)
    #expect(try cache.contains(key) == isLive, sourceLocation: sourceLocation)
    #expect(try (cache.withBytes(forKey: key) { _ in } != nil) == isLive, sourceLocation: sourceLocation)
    let loaded = try cache.entries(withPrefix: key).contains { $0.key == key }
    #expect(loaded == isLive, sourceLocation: sourceLocation)
    #expect(
      try cache.read { try $0.value(String.self, forKey: key) != nil } == isLive, sourceLocation: sourceLocation)
    #expect(try cache.read { try $0.contains(key) } == isLive, sourceLocation: sourceLocation)
    #expect(
      try cache.read { try $0.entries(withPrefix: key).contains { $0.key == key } } == isLive,
      sourceLocation: sourceLocation)
  }

  @Test func aTimeThatIsNoNumberIsRefused() throws {
    let cache = try open()
    try cache.set("value", forKey: "key")
    let time = Expiry.at(Date(timeIntervalSince1970: .nan))
    #expect(errorCode { _ = try cache.touch(forKey: "key", expires: time) } == .invalidArgument)
    #expect(errorCode { try cache.set("other", forKey: "key", expires: time) } == .invalidArgument)
    #expect(try cache.value(forKey: "key") == "value")
    for seconds in [-Double.infinity, -1, 0] {
      try cache.set("gone", forKey: "other", expires: .at(Date(timeIntervalSince1970: seconds)))
      try expect("other", in: cache, isLive: false)
    }
    try cache.set("here", forKey: "other", expires: .at(Date(timeIntervalSince1970: .infinity)))
    try expect("other", in: cache, isLive: true)
    try cache.close()
  }

  /// Reads extend the expiry without writing each time.
  @Test(arguments: Place.allCases, [10, 5_000]) func anExpirySlides(_ place: Place, _ size: Int) throws {
    for isDisk in [false, true] {
      let cache = try open()
      let text = String(repeating: "t", count: size)
      func read(_ key: String) throws -> String? {
        isDisk
          ? try cache.withoutMemory.value(forKey: key, expires: .sliding(.seconds(100)))
          : try cache.value(forKey: key, expires: .sliding(.seconds(100)))
      }
      try cache.set(text, forKey: "key", expires: .after(.seconds(100)))
      for (key, expires) in [("never", nil), ("later", Duration.seconds(5_000))] {
        try cache.set(text, forKey: key, expires: expires.map { .after($0) } ?? .never)
      }
      try place.settle(cache)
      var versions = Set<EntryVersion>()
      for _ in 0..<100 {
        clock.advance(by: .seconds(5))
        #expect(try read("key") == text)
        versions.insert(try #require(try cache.entry(forKey: "key")).version)
        #expect(try read("never") == text && read("later") == text)
      }
      // Only every second or third read moved the expiry.
      #expect(30...50 ~= versions.count)
      #expect(try cache.entry(forKey: "never")?.expiration == nil)
      let later = try #require(try cache.entry(forKey: "later")?.expiration)
      clock.advance(by: .seconds(89))
      try expect("key", in: cache, isLive: true)
      clock.advance(by: .seconds(11))
      #expect(try read("key") == nil)
      try expect("key", in: cache, isLive: false)
      // A lifetime of zero or less is an error, and removes nothing.
      for lifetime in [Duration.zero, .seconds(-1)] {
        #expect(
          errorCode {
            _ =
              isDisk
              ? try cache.withoutMemory.value(String.self, forKey: "later", expires: .sliding(lifetime))
              : try cache.value(String.self, forKey: "later", expires: .sliding(lifetime))
          } == .invalidArgument)
      }
      #expect(try cache.entry(forKey: "later")?.expiration == later)
      #expect(try read("none") == nil)
      try cache.removeAll()
      try cache.close()
    }
  }

  @Test(arguments: Place.allCases, [10, 5_000]) func anExpiredEntryIsNeverServed(_ place: Place, _ size: Int) throws {
    for probe in [Duration.seconds(10), .nanoseconds(9_999_999_999)] {
      let cache = try open()
      let text = String(repeating: "t", count: size)
      try cache.set(text, forKey: "key", expires: .after(.seconds(10)))
      try cache.set(text, forKey: "later", expires: .after(.seconds(11)))
      try cache.set(text, forKey: "never")
      try cache.set(text, forKey: String(repeating: "long", count: 300), expires: .after(.seconds(10)))
      try place.settle(cache)
      clock.advance(by: probe)
      let isLive = probe < .seconds(10)
      try expect("key", in: cache, isLive: isLive)
      try expect(String(repeating: "long", count: 300), in: cache, isLive: isLive)
      try expect("later", in: cache, isLive: true)
      try expect("never", in: cache, isLive: true)
      try cache.removeAll()
      try cache.close()
    }
  }

  @Test(arguments: [Duration.zero, .seconds(-5), .nanoseconds(-1)]) func aTimeThatIsOverIsOverAtOnce(
    _ expiry: Duration
  ) throws {
    let cache = try open()
    try cache.set("old", forKey: "key")
    try cache.set("new", forKey: "key", expires: .after(expiry))
    try expect("key", in: cache, isLive: false)
    let loads = Guarded(0)
    for round in 1...3 {
      let value = try cache.value(Int.self, forKey: "load") { context in
        context.lifetime = expiry
        return loads {
          $0 += 1
          return $0
        }
      }
      #expect(value == round)
    }
    #expect(loads.current == 3)
    try cache.close()
  }

  @Test func aVeryLongTimeIsNoOverflow() throws {
    let cache = try open()
    try cache.set("v", forKey: "key", expires: .after(.seconds(Int64.max)))
    try cache.set("v", forKey: "other", expires: .after(.seconds(9_000_000_000)))
    cache.memory.removeAll()
    try expect("key", in: cache, isLive: true)
    try expect("other", in: cache, isLive: true)
    try cache.close()
  }

  @Test(arguments: Place.allCases) func replacingWithoutAnExpiryMakesItLive(_ place: Place) throws {
    let cache = try open()
    try cache.set("short", forKey: "key", expires: .after(.seconds(5)))
    try place.settle(cache)
    try cache.set("long", forKey: "key")
    try place.settle(cache)
    clock.advance(by: .seconds(100))
    #expect(try cache.value(String.self, forKey: "key") == "long")
    try cache.disk.trim(to: .limits)
    try expect("key", in: cache, isLive: true)
    #expect(try cache.entries().first?.expiration == nil)
    try cache.close()
  }

  @Test func anExpirySurvivesReopening() throws {
    let cache = try open()
    try cache.set("v", forKey: "key", expires: .after(.seconds(10)))
    let expiration = try #require(try cache.entries().first?.expiration)
    #expect(abs(expiration.timeIntervalSince1970 - Double(clock.now) / 1e9 - 10) < 0.001)
    try cache.close()
    clock.advance(by: .seconds(9))
    var reopened = try open()
    try expect("key", in: reopened, isLive: true)
    try reopened.close()
    clock.advance(by: .seconds(1))
    reopened = try open()
    try expect("key", in: reopened, isLive: false)
    try reopened.close()
  }

  @Test func anExpirySurvivesAJournal() throws {
    let cache = try open()
    try cache.set("v", forKey: "key", expires: .after(.seconds(10)))
    let crashed = directory.crashed(cache)
    try cache.close()
    clock.advance(by: .seconds(10))
    let reopened = try crashed.open { $0.clock = .manual(clock) }
    try expect("key", in: reopened, isLive: false)
    try reopened.close()
  }

  @Test func aClockThatIsSetBackMakesNoneLivePermanently() throws {
    let cache = try open()
    try cache.set("v", forKey: "key", expires: .after(.seconds(10)))
    clock.set(clock.now - 3_600_000_000_000)
    try expect("key", in: cache, isLive: true)
    clock.set(clock.now + 3_600_000_000_000 + 10_000_000_000)
    try expect("key", in: cache, isLive: false)
    try cache.close()
  }

  @Test func trimmingRemovesExpiredEntries() throws {
    let cache = try open()
    for index in 0..<100 {
      try cache.set(
        String(repeating: "v", count: index * 30), forKey: "k\(index)",
        expires: .after(.seconds(index % 2 == 0 ? 5 : 500)))
    }
    try cache.set("v", forKey: "never")
    #expect(try cache.count == 101)
    clock.advance(by: .seconds(6))
    try cache.disk.trim(to: .limits)
    #expect(try cache.count == 51)
    #expect(try cache.entries().count == 51)
    // In each tier.
    #expect(cache.statistics.expirations == 100)
    clock.advance(by: .seconds(600))
    try cache.disk.trim(to: .limits)
    #expect(try cache.entries().map(\.key) == ["never"])
    #expect(try cache.count == 1)
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try cache.close()
  }

  @Test func expiredEntriesAreRemovedInTheBackground() throws {
    let cache = try open()
    try cache.set("v", forKey: "key", expires: .after(.seconds(5)))
    try cache.set("v", forKey: "other")
    try cache.flush()
    cache.disk.autoTrimInterval = .seconds(20)
    clock.advance(by: .seconds(21))
    // Jobs run in order, so this waits for earlier ones.
    try cache.store.onWriterThread { .success(()) }
    #expect(try cache.count == 1)
    #expect(cache.memory.count == 1)
    try cache.set("v", forKey: "key", expires: .after(.seconds(5)))
    cache.disk.autoTrimInterval = .zero
    clock.advance(by: .seconds(1_000))
    try cache.store.onWriterThread { .success(()) }
    #expect(try cache.count == 2)
    try cache.close()
  }
}
