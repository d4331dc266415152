import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ObservationTests {
  let directory = CacheDirectory()

  @Test func theCurrentValueComesFirst() async throws {
    let cache = try directory.open()
    var values = cache.observe(Int.self, forKey: "key").values.makeAsyncIterator()
    #expect(try await values.next() == .some(nil))
    let changes: [(value: Int?, make: @Sendable (LMDBCache) throws -> Void)] = [
      (1, { try $0.set(1, forKey: "key") }), (2, { try $0.set(2, forKey: "key") }),
      (nil, { try $0.removeValue(forKey: "key") }), (7, { try $0.increment(forKey: "key", by: 7) }),
      (8, { try $0.write { $0.set(8, forKey: "key") } }), (nil, { try $0.removeAll(.prefix("k")) }),
      (9, { try $0.withoutMemory.set(9, forKey: "key") }),
    ]
    for (value, make) in changes {
      // Changes to other keys, even ones with this prefix, are not delivered.
      for index in 0..<100 { try cache.set(index, forKey: "key\(index)") }
      try make(cache)
      #expect(try await values.next() == .some(value))
    }
    // A new observer starts with the current value.
    var others = cache.observe(Int.self, forKey: "key").values.makeAsyncIterator()
    #expect(try await others.next() == 9)
    try await cache.removeAll()
    #expect(try await values.next() == .some(nil))
    #expect(try await others.next() == .some(nil))
    try await cache.close()
    #expect(try await values.next() == nil)
    #expect(try await others.next() == nil)
    var late = cache.observe(Int.self, forKey: "key").values.makeAsyncIterator()
    #expect(try await late.next() == nil)
  }

  /// Skips intermediate and unchanged values.
  @Test func intermediateValuesAreSkipped() async throws {
    let cache = try directory.open()
    try cache.set(0, forKey: "key")
    var values = cache.observe(Int.self, forKey: "key").values.makeAsyncIterator()
    for number in 1...1_000 { try cache.set(number, forKey: "key") }
    #expect(try await values.next() == 1_000)
    try cache.set(5, forKey: "key")
    #expect(try await values.next() == 5)
    try await cache.close()
  }

  @Test func unreadableValuesAreErrors() async throws {
    let cache = try directory.open()
    try cache.set("text", forKey: "key")
    var values = cache.observe(Int.self, forKey: "key").values.makeAsyncIterator()
    let error = await #expect(throws: CacheError.self) { try await values.next() }
    #expect(error?.code == .typeMismatch)
    try cache.set(1, forKey: "key")
    #expect(try await values.next() == 1)
    try await cache.close()
  }

  @Test func expiriesAreObservedInTime() async throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    cache.disk.autoTrimInterval = .zero
    try cache.set(1, forKey: "key", expires: .after(.seconds(10)))
    try cache.set(1, forKey: "key of another", expires: .after(.seconds(1)))
    var values = cache.observe(Int.self, forKey: "key").values.makeAsyncIterator()
    #expect(try await values.next() == 1)
    clock.advance(by: .seconds(10))
    #expect(try await values.next() == .some(nil))
    try await cache.disk.trim(to: .limits)
    try cache.set(2, forKey: "key", expires: .after(.seconds(10)))
    #expect(try await values.next() == 2)
    clock.advance(by: .seconds(9))
    try cache.touch(forKey: "key", expires: .after(.seconds(10)))
    #expect(try await values.next() == 2)
    clock.advance(by: .seconds(10))
    #expect(try await values.next() == .some(nil))
    // Replacing the value cancels its alarm.
    try cache.set(4, forKey: "key", expires: .after(.seconds(1)))
    #expect(try await values.next() == 4)
    try cache.set(5, forKey: "key")
    #expect(try await values.next() == 5)
    clock.advance(by: .seconds(100))
    try cache.set(6, forKey: "key")
    #expect(try await values.next() == 6)
    try await cache.close()
  }

  /// By this process's clock the other's entry has expired before it is noticed.
  @Test func shortLivedEntriesOfAnotherProcessAreObserved() async throws {
    let clock = ManualClock(date: Date() + 3_600)
    let cache = try directory.open { $0.clock = .manual(clock) }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=1") == "ok")
    var values = cache.observe(String.self, forKey: "key").values.makeAsyncIterator()
    #expect(try await values.next() == .some(nil))
    for (command, value) in [("write key theirs", "theirs"), ("setfor key late 1000000", nil)] {
      #expect(child.run(command) == "ok")
      #expect(child.run("flush") == "ok")
      // Polling pauses in proportion to its own duration, so the clock must not jump meanwhile.
      try cache.settle()
      clock.advance(by: ChangeFeed.interval)
      #expect(try await values.next() == .some(value))
    }
    child.end()
    try await cache.close()
  }

  @Test func itEndsWithItsTaskAndItsCache() async throws {
    var cache: LMDBCache? = try directory.open()
    let values = cache!.observe(Int.self, forKey: "key").values
    let task = Task { try await values.reduce(into: 0) { count, _ in count += 1 } }
    #expect(try await becomesTrue { cache!.store.feed.isObserved.load(ordering: .relaxed) })
    task.cancel()
    #expect(try await task.value <= 1)
    let other = Task { try await values.reduce(into: 0) { count, _ in count += 1 } }
    #expect(try await becomesTrue { cache!.store.feed.isObserved.load(ordering: .relaxed) })
    // Observation does not retain the cache.
    cache = nil
    #expect(try await other.value <= 1)
    #expect(try await values.reduce(into: 0) { count, _ in count += 1 } == 0)
  }
}
