import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Events that a read-only follower reports.
@Suite struct FollowerTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  private func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    try directory.open {
      $0.clock = .manual(clock)
      change(&$0)
    }
  }

  private func follower(limit: Int = 10_000) throws -> CacheFollower {
    let reader = try #require(try CacheReader(directory: directory.url, clock: .manual(clock)))
    let follower = CacheFollower(reader, trackingLimit: limit, clock: .manual(clock))
    try follower.follow { Issue.record("told at the beginning: \($0)") }
    return follower
  }

  /// Waits for the next events.
  private func next(_ follower: CacheFollower) throws -> [CacheFollower.Event] {
    var events: [CacheFollower.Event] = []
    _ = try eventually {
      try follower.follow { events.append($0) }
      return !events.isEmpty
    }
    return events
  }

  private func changes(_ follower: CacheFollower) throws -> [CacheChange] { try next(follower).map(\.change) }

  /// Polls once without a pause, and expects no events.
  private func expectNothing(_ follower: CacheFollower, at location: SourceLocation = #_sourceLocation) throws {
    follower.nextLook = .min
    try follower.follow { Issue.record("told: \($0)", sourceLocation: location) }
  }

  /// Once, although they are seen before their commit.
  @Test func setsAndRemovalsAreReported() throws {
    let cache = try open(neverCommitting)
    try cache.set("old", forKey: "before")
    try cache.flush()
    let follower = try follower()
    try cache.set(Data(count: 300), forKey: "a", expires: .after(.seconds(60)))
    let set = try next(follower)
    #expect(set.map(\.change) == [.set(key: "a")])
    let entry = try #require(set.first?.entry)
    #expect(entry.size == 300 && entry.format == .bytes && entry.expiration != nil)
    try cache.flush()
    try expectNothing(follower)
    try cache.set("new", forKey: "before")
    try cache.removeValue(forKey: "a")
    #expect(try changes(follower) == [.set(key: "before"), .removed(key: "a")])
    try cache.flush()
    try expectNothing(follower)
    // Keys whose digests are stored.
    let long = String(repeating: "long", count: 300)
    try cache.set("1", forKey: long)
    try cache.flush()
    #expect(try changes(follower) == [.set(key: long)])
    try cache.removeValue(forKey: long)
    try cache.flush()
    #expect(try changes(follower) == [.removed(key: long)])
  }

  @Test func tooManyChangesAreMissed() throws {
    let cache = try open()
    for number in 0..<50 { try cache.set(number, forKey: "\(number)") }
    try cache.flush()
    let follower = try follower(limit: 40)
    try cache.set(0, forKey: "1")
    try cache.flush()
    #expect(try changes(follower) == [.missed])
    try expectNothing(follower)
    try cache.trim(to: .count(10))
    var told: [CacheChange] = []
    #expect(
      try eventually {
        try cache.set(7, forKey: "new")
        try cache.flush()
        try follower.follow { told.append($0.change) }
        return told.last == .set(key: "new")
      })
    #expect(told.dropLast().allSatisfy { $0 == .missed } && told.count > 1)
  }

  /// Applying the reported events reproduces the cache.
  @Test(arguments: [UInt64(1), 2, 3, 4]) func reportedEventsReproduceTheCache(_ seed: UInt64) throws {
    var random = SeededRandom(seed)
    let cache = try open { $0.disk.groupCommitInterval = .milliseconds(random.below(3)) }
    try cache.set("first", forKey: "first")
    try cache.flush()
    let follower = try follower()
    var told: Set<String> = ["first"]
    func take() throws {
      try follower.follow { event in
        switch event.change {
        case .set(let key): told.insert(key)
        case .removed(let key), .expired(let key), .evicted(let key): told.remove(key)
        case .removedAll: told = []
        case .missed: Issue.record("missed")
        }
      }
    }
    for _ in 0..<2_000 {
      let key = "key \(random.below(60))"
      switch random.below(100) {
      case 0: try cache.removeAll()
      case 1: try cache.removeAll(random.below(2) == 0 ? .prefix("key \(random.below(10))") : .tag("tag"))
      case 2..<5: clock.set(clock.date + 1)
      case 5..<35: try cache.removeValue(forKey: key)
      case 35..<50: try cache.set("v", forKey: key, expires: .after(.seconds(random.below(5) + 1)), tags: ["tag"])
      default: try cache.set("v", forKey: key)
      }
      if random.below(10) == 0 { try take() }
    }
    try cache.flush()
    let there = Set(try cache.entries().map(\.key))
    #expect(
      try eventually {
        try take()
        return told == there
      }, "\(told.symmetricDifference(there))")
  }
}
