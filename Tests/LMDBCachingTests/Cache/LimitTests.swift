import Platform
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct LimitTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    try directory.open { configuration in
      configuration.clock = .manual(clock)
      change(&configuration)
    }
  }

  func fill(_ cache: LMDBCache, _ count: Int, cost: Int? = nil) throws {
    for index in 0..<count {
      try cache.set(index, forKey: key(index), cost: cost)
      clock.advance(by: .seconds(1))
    }
  }

  func key(_ index: Int) -> String { String(format: "k%05d", index) }

  @Test func bothTiersAreBoundedByDefault() throws {
    for isUnlimited in [false, true] {
      let cache = try open {
        $0.memory = isUnlimited ? .unlimited : CacheConfiguration.Memory()
        $0.disk = isUnlimited ? .unlimited : CacheConfiguration.Disk()
      }
      cache.disk.autoTrimInterval = .zero
      try fill(cache, 6, cost: 1 << 30)
      #expect(cache.memory.count == (isUnlimited ? 6 : 0))
      try cache.disk.trim(to: .limits)
      #expect(try cache.count == (isUnlimited ? 6 : 4))
      for index in 0..<6 { try cache.set(index, forKey: key(index), cost: 100 << 20) }
      #expect(cache.memory.count == (isUnlimited ? 6 : 2))
      #expect((cache.memory.countLimit == .max) == isUnlimited && (cache.disk.countLimit == .max) == isUnlimited)
      try cache.removeAll()
      try cache.close()
    }
    #expect(CacheConfiguration.standard(in: .data).disk == .unlimited)
    #expect(CacheConfiguration.standard(in: .caches).disk == CacheConfiguration.Disk())
  }

  @Test func theLeastRecentlyUsedGoFirst() throws {
    var cache = try open()
    try fill(cache, 100)
    clock.advance(by: .seconds(600))
    #expect(try cache.value(Int.self, forKey: key(0)) == 0)
    try cache.flush()
    cache.memory.removeAll()
    #expect(try cache.withoutMemory.value(Int.self, forKey: key(1)) == 1)
    #expect(try cache.withBytes(forKey: key(2)) { $0.byteCount } == 8)
    #expect(try cache.value(Int.self, forKey: key(3)) == 3)
    #expect(try cache.contains(key(4)))
    #expect(try cache.read { try $0.value(Int.self, forKey: key(5)) } == 5)
    #expect(try cache.value(Int.self, forKey: key(6)) { _ in -1 } == 6)
    #expect(try cache.entries().count == 100)
    // Accesses survive a reopening.
    cache.store.enqueueMaintenance()
    try cache.settle()
    try cache.close()
    cache = try open()
    try cache.trim(to: .count(10))
    let kept = try cache.entries().map(\.key)
    #expect(Set(kept).isSuperset(of: [1, 2, 3, 6].map(key)) && Set(kept).isDisjoint(with: [4, 5].map(key)))
    #expect(try kept.count == 10 && kept.contains(key(99)) && cache.count == 10)
    // Reads from memory are accesses, too.
    clock.advance(by: .seconds(600))
    try cache.set(1, forKey: "a")
    clock.advance(by: .seconds(600))
    try cache.set(2, forKey: "b")
    clock.advance(by: .seconds(600))
    #expect(try cache.value(Int.self, forKey: "a") == 1)
    try cache.disk.trim(to: .count(1))
    #expect(try cache.entries().map(\.key) == ["a"])
    try cache.close()
  }

  @Test func negativeLimitsEmptyNothing() async throws {
    let cache = try open()
    try fill(cache, 20, cost: 5)
    try await cache.flush()
    let disk = cache.disk
    for target in [TrimTarget.count(-1), .count(.min), .cost(-1), .age(.seconds(-1))] {
      #expect(await errorCode { try await cache.trim(to: target) } == .invalidArgument)
      #expect(await errorCode { try await disk.trim(to: target) } == .invalidArgument)
    }
    let unknown = Date(timeIntervalSince1970: .nan)
    #expect(await errorCode { try await cache.removeAll(.createdBefore(unknown)) } == .invalidArgument)
    for limit in [-1, Int.min] {
      (disk.countLimit, disk.costLimit, disk.ageLimit, disk.freeSpaceLimit) = (limit, limit, .seconds(-1), limit)
      #expect(disk.countLimit == .max && disk.costLimit == .max && disk.ageLimit == nil && disk.freeSpaceLimit == 0)
    }
    clock.advance(by: .seconds(60))
    try await disk.trim(to: .limits)
    #expect(try cache.count == 20)
    try await cache.close()
  }

  // MARK: Expiry

  @Test func extremeExpiryTimes() throws {
    let cache = try open()
    try cache.set("value", forKey: "key")
    let time = Expiry.at(Date(timeIntervalSince1970: .nan))
    #expect(errorCode { _ = try cache.touch(forKey: "key", expires: time) } == .invalidArgument)
    #expect(errorCode { try cache.set("other", forKey: "key", expires: time) } == .invalidArgument)
    #expect(try cache.value(forKey: "key") == "value")
    for (seconds, isLive) in [(-Double.infinity, false), (-1, false), (0, false), (.infinity, true)] {
      try cache.set("other", forKey: "other", expires: .at(Date(timeIntervalSince1970: seconds)))
      #expect(try cache.contains("other") == isLive && cache.withoutMemory.contains("other") == isLive)
    }
    try cache.close()
  }

  @Test(arguments: [(Duration.seconds(20), 1), (Duration.zero, 2)])
  func expiredEntriesAreRemovedInTheBackground(_ interval: Duration, _ left: Int) throws {
    let cache = try open(neverCommitting)
    try cache.set("v", forKey: "key", expires: .after(.seconds(5)))
    try cache.set("v", forKey: "other")
    try cache.flush()
    cache.disk.autoTrimInterval = interval
    clock.advance(by: .seconds(21))
    // Waits for earlier jobs.
    try cache.settle()
    #expect(try cache.count == left)
    try cache.close()
  }

  // MARK: Eviction

  @Test func aLimitThatIsFarExceededIsKeptAtOnce() throws {
    let cache = try open { ($0.disk.countLimit, $0.disk.groupCommitInterval) = (50, .zero) }
    for index in 0..<500 { try cache.set(index, forKey: key(index)) }
    try cache.flush()
    #expect(try eventually { try cache.count <= 55 })
    try cache.close()
  }

  @Test func theAgeLimitCountsFromTheLastAccess() throws {
    let cache = try open { $0.disk.ageLimit = .seconds(3_600) }
    try fill(cache, 10)
    clock.advance(by: .seconds(3_000))
    cache.memory.removeAll()
    try cache.flush()
    #expect(try cache.withoutMemory.value(Int.self, forKey: key(3)) == 3 && cache.value(Int.self, forKey: key(4)) == 4)
    clock.advance(by: .seconds(700))
    try cache.disk.trim(to: .limits)
    #expect(try cache.entries().map(\.key) == [key(3), key(4)])
    cache.disk.ageLimit = nil
    clock.advance(by: .seconds(90_000))
    try cache.disk.trim(to: .limits)
    #expect(try cache.count == 2)
    try cache.close()
  }

  /// Such an entry would evict all others before itself.
  @Test func oversizedEntriesEvictNoOthers() throws {
    let cache = try open()
    try fill(cache, 20, cost: 10)
    try cache.set(1, forKey: "large", cost: 1_001)
    try cache.set(1, forKey: "as large as may be", cost: 800)
    cache.disk.costLimit = 1_000
    try cache.disk.trim(to: .limits)
    #expect(try cache.count == 21 && cache.totalCost == 1_000 && !cache.contains("large"))
    try cache.close()
  }

  @Test(arguments: [nil, 0, 1 << 50] as [Int?]) func freeDiskSpaceIsLeft(_ cost: Int?) throws {
    let cache = try open()
    try fill(cache, 50, cost: cost)
    for (limit, count) in [(1, 50), (Int.max, 0)] {
      cache.disk.freeSpaceLimit = limit
      try cache.disk.trim(to: .limits)
      #expect(try cache.count == count)
    }
    try cache.close()
  }

  /// What remains; `nil`: no such limit.
  typealias Shortage = (count: Int, cost: Int, missing: Int, leftCount: Int?, leftCost: Int?)

  /// 1,000 MiB are in use. Costs may be bytes, counts or large; few entries or none may have one. At least one goes.
  static let shortages: [Shortage] = [
    (10_000, 1_000 << 20, 1 << 20, nil, 999 << 20), (10_000, 10_000, 1 << 20, nil, 9_990),
    (10_000, .max, 500 << 20, nil, Int.max / 2), (10_000, 1, 1 << 20, 9_990, nil), (10, 10, 1, nil, 9),
    (10, 0, 1, 9, nil), (10, 100, .max, nil, 0), (10, 0, .max, 0, nil), (0, 0, 1 << 20, nil, 0),
  ]

  /// Costs need not be bytes: the trim takes the same share of cost as of bytes.
  @Test(arguments: shortages) func freeSpaceTakesAShareOfTheCosts(_ shortage: Shortage) {
    let free = Trimmer.goal(
      TrimGoal(lastAccess: 7), freeing: shortage.missing, of: 1_000 << 20, count: shortage.count, cost: shortage.cost)
    #expect(free.count == shortage.leftCount ?? .max && free.cost == shortage.leftCost ?? .max && free.lastAccess == 7)
    // A stricter limit stays.
    let limited = Trimmer.goal(
      TrimGoal(count: 1, cost: 1), freeing: shortage.missing, of: 1_000 << 20, count: shortage.count,
      cost: shortage.cost)
    #expect(limited.count == min(1, free.count) && limited.cost == min(1, free.cost))
  }

  /// More than one part of a scan or of a removal.
  @Test func trimmingManyEntriesIsExact() throws {
    let cache = try open()
    for start in stride(from: 0, to: 25_000, by: 5_000) {
      try cache.write { batch in
        for index in start..<start + 5_000 { batch.set(index, forKey: key(index), cost: 2) }
      }
      clock.advance(by: .seconds(60))
    }
    try cache.trim(to: .count(10_000))
    #expect(try cache.count == 10_000 && cache.totalCost == 20_000)
    #expect(try cache.entries().map(\.key) == (15_000..<25_000).map(key))
    try cache.close()
  }
}
