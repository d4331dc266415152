import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Changes that a process reports about its own writes.
@Suite struct ChangeTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    try directory.open { configuration in
      neverCommitting(&configuration)
      configuration.clock = .manual(clock)
      change(&configuration)
    }
  }

  @Test func everyChangeIsReported() throws {
    let cache = try open { $0.disk.inlineThreshold = 1_000 }
    let other = try open { $0.disk.inlineThreshold = 1_000 }
    let changes = cache.changes(withPrefix: "a")
    try cache.set(1, forKey: "a1")
    try cache.withoutMemory.set(2, forKey: "a2")
    try other.set(3, forKey: "a3")
    try cache.setObject(NSString("4"), forKey: "a4")
    try cache.set(Self.long, forKey: "a5")
    #expect(changes.taken() == (1...5).map { .set(key: "a\($0)") })
    try cache.removeValue(forKey: "a1")
    try cache.withoutMemory.removeValue(forKey: "a2")
    try other.removeValue(forKey: "a3")
    #expect(changes.taken() == (1...3).map { .removed(key: "a\($0)") })
    try cache.write { batch in
      batch.set(1, forKey: "a1")
      batch.set(1, forKey: "b")
      batch.removeValue(forKey: "a4")
    }
    // A running scan may report the removal first.
    #expect(changes.taken().sorted { "\($0)" < "\($1)" } == [.removed(key: "a4"), .set(key: "a1")])
    try other.removeAll(.prefix("a5"))
    #expect(changes.taken() == [.removedAll(prefix: "a5")])
    try cache.withoutMemory.removeAll()
    #expect(changes.taken() == [.removedAll(prefix: "")])
    try other.close()
    try cache.close()
  }

  @Test func trimsAreReported() throws {
    let cache = try open()
    try cache.set(1, forKey: "expiring", expires: .after(.seconds(10)))
    for index in 0..<3 {
      clock.advance(by: .seconds(120))
      try cache.set(index, forKey: "k\(index)")
    }
    let changes = cache.changes()
    try cache.trim(to: .count(2))
    #expect(Set(changes.taken().map { "\($0)" }) == ["expired(key: \"expiring\")", "evicted(key: \"k0\")"])
    try cache.trim(to: .count(0))
    #expect(changes.taken() == [.removedAll(prefix: "")])
    try cache.close()
  }

  /// Removing a tag reports no keys, so the first scan misses an entry removed as the observation begins.
  @Test(arguments: [true, false]) func tagRemovalsAsTheObservationBeginsAreMissed(_ isBatch: Bool) throws {
    let cache = try open()
    try cache.set("v", forKey: "k", tags: ["t"])
    let writer = HeldWriter(cache.store)
    let changes = cache.changes()
    #expect(try cache.value(String.self, forKey: "k") == "v")
    if isBatch {
      try cache.write { $0.removeAll(.tag("t")) }
    } else {
      try cache.removeAll(.tag("t"))
    }
    writer.release()
    try cache.settle()
    #expect(changes.taken() == [.missed])
    try cache.close()
  }

  static let long = String(repeating: "long", count: 300)

  static let boundaries: [(prefix: String, inside: [String], outside: [String])] = [
    ("", ["", "a", long, "é"], []), (long, [long, long + "x"], ["long"]),
    ("user:", ["user:", "user:1", "user:" + long], ["user", "user;", ""]),
    ("\u{E9}", ["\u{E9}", "\u{E9}t"], ["e\u{301}", "e", "\u{EA}"]), ("e", ["e\u{301}", "e"], ["\u{E9}"]),
  ]

  @Test(arguments: boundaries.indices) func thePrefixIsOfBytes(_ index: Int) throws {
    let (prefix, inside, outside) = Self.boundaries[index]
    let cache = try open()
    let changes = cache.changes(withPrefix: prefix)
    for key in outside + inside { try cache.set(1, forKey: key) }
    #expect(changes.taken().map { Array(($0.key ?? "none").utf8) } == inside.map { Array($0.utf8) })
    for key in outside where !prefix.utf8.starts(with: key.utf8) { try cache.removeAll(.prefix(key)) }
    #expect(changes.taken() == [])
    for key in inside + [String(prefix.prefix(2))] {
      try cache.removeAll(.prefix(key))
      // A running scan may report single keys too.
      #expect(changes.taken().contains(.removedAll(prefix: key)))
    }
    try cache.close()
  }

  @Test func untakenChangesMergeByKey() throws {
    let cache = try open()
    let changes = cache.changes()
    for number in 0..<100 { try cache.set(number, forKey: "k\(number % 3)") }
    try cache.removeValue(forKey: "k1")
    #expect(changes.taken() == [.set(key: "k0"), .removed(key: "k1"), .set(key: "k2")])
    try cache.set(1, forKey: "k0")
    try cache.removeAll()
    try cache.set(1, forKey: "k2")
    #expect(changes.taken() == [.removedAll(prefix: ""), .set(key: "k2")])
    try cache.close()
  }

  @Test func aSlowConsumerMissesChanges() async throws {
    let cache = try open()
    let others = [Int.max, Int.min].map { cache.changes(bufferingLimit: $0) }
    try cache.set(1, forKey: "key")
    for changes in others { #expect(changes.taken() == [.set(key: "key")]) }
    let changes = cache.changes(bufferingLimit: 10)
    for index in 0..<10 { try cache.set(index, forKey: "k\(index)") }
    #expect(changes.taken().count == 10)
    for index in 0..<35 { try cache.set(index, forKey: "k\(index)") }
    var iterator = changes.makeAsyncIterator()
    #expect(await iterator.next() == .missed)
    let rest = changes.taken()
    #expect(rest.count <= 10 && rest.last == .set(key: "k34"))
    // Key bytes count toward the limit too.
    for index in 0..<9 { try cache.set(index, forKey: String(repeating: "x", count: 200_000) + String(index)) }
    #expect(changes.taken().first == .missed)
    try await cache.close()
  }

  // MARK: The end

  @Test func itEndsWhenTheCacheIsClosed() async throws {
    let cache = try open()
    let other = try open()
    let changes = cache.changes()
    let others = other.changes()
    try cache.set(1, forKey: "key")
    try await cache.close()
    var iterator = changes.makeAsyncIterator()
    // Earlier changes are still delivered.
    #expect(await iterator.next() == .set(key: "key"))
    #expect(await iterator.next() == nil)
    try other.set(2, forKey: "key")
    #expect(others.taken() == [.set(key: "key")])
    try await other.close()
    var ended = cache.changes().makeAsyncIterator()
    #expect(await ended.next() == nil)
  }
}
