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

  @Test func aVeryLongTimeIsNoOverflow() throws {
    let cache = try open()
    try cache.set("v", forKey: "key", expires: .after(.seconds(Int64.max)))
    try cache.set("v", forKey: "other", expires: .after(.seconds(9_000_000_000)))
    cache.memory.removeAll()
    try expect("key", in: cache, isLive: true)
    try expect("other", in: cache, isLive: true)
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
