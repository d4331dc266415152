import LMDBCaching
import TestSupport
import Testing

@Suite struct MemoryCacheTests {
  struct Clash: Hashable, Sendable {
    let number: Int
    func hash(into hasher: inout Hasher) {}
  }

  @Test func keysOfOneHashAreToldApart() {
    let cache = MemoryCache<Clash, Int>()
    for number in 0..<500 { cache.set(number, forKey: Clash(number: number)) }
    for number in stride(from: 0, to: 500, by: 3) {
      #expect(cache.removeValue(forKey: Clash(number: number)) == number)
    }
    for number in 0..<500 {
      #expect(cache.value(forKey: Clash(number: number)) == (number % 3 == 0 ? nil : number))
    }
    cache.trim(to: .count(10))
    #expect((0..<500).filter { cache.contains(Clash(number: $0)) }.count == 10)
  }

  @Test func anEntryOverTheWholeLimitIsNotAdmittedAndTheOldOneGoes() {
    let cache = MemoryCache<String, Int>(costLimit: 100)
    cache.set(1, forKey: "a", cost: 10)
    cache.set(2, forKey: "a", cost: 101)
    #expect(cache.value(forKey: "a") == nil)
    #expect(cache.totalCost == 0)
    cache.set(3, forKey: "a", cost: 100)
    #expect(cache.value(forKey: "a") == 3)
    cache.countLimit = 0
    cache.set(4, forKey: "b")
    #expect(cache.count == 0)
  }

  @Test func negativeLimitsEmptyNothing() {
    let clock = ManualClock()
    let cache = MemoryCache<Int, Int>(countLimit: -1, costLimit: -1, ageLimit: .seconds(-1), clock: .manual(clock))
    for number in 0..<10 { cache.set(number, forKey: number, cost: 5) }
    cache.trim(to: .count(-1))
    cache.trim(to: .cost(-1))
    cache.trim(to: .age(.seconds(-1)))
    (cache.countLimit, cache.costLimit, cache.ageLimit) = (-1, .min, .seconds(-1))
    clock.advance(by: .seconds(60))
    #expect(cache.count == 10)
    #expect(cache.countLimit == .max && cache.costLimit == .max && cache.ageLimit == nil)
    cache.set(1, forKey: 1, cost: -7)
    #expect(cache.totalCost == 45)
    #expect(MemoryCache<Int, Int>().countLimit == 1_000_000)
    // An age before all time.
    for now in [Int64.min, -5, 0, 5] {
      let cache = MemoryCache<Int, Int>(clock: .manual(ManualClock(now: now)))
      cache.set(1, forKey: 1)
      cache.trim(to: .age(.seconds(Int64.max)))
      #expect(cache.count == 1, "at \(now)")
    }
  }

  @Test func anExpiredValueIsNeverServedAndIsRemovedInTheBackground() {
    let clock = ManualClock()
    let cache = MemoryCache<String, Int>(clock: .manual(clock))
    cache.set(1, forKey: "a", expiresIn: .seconds(10))
    cache.set(2, forKey: "b")
    clock.advance(by: .nanoseconds(9_999_999_999))
    #expect(cache.value(forKey: "a") == 1)
    clock.advance(by: .nanoseconds(1))
    #expect(!cache.contains("a") && cache.value(forKey: "a") == nil)
    cache.set(3, forKey: "c", expiresIn: .seconds(1))
    clock.advance(by: .seconds(6))
    #expect(cache.count == 1 && cache.statistics.expirations == 2)
    cache.set(4, forKey: "b", expiresIn: .zero)
    #expect(cache.value(forKey: "b") == nil)
  }

  @Test(arguments: [2, 100, 900]) func expiredValuesGoFirst(_ limit: Int) {
    let clock = ManualClock()
    let cache = MemoryCache<Int, Int>(countLimit: limit, clock: .manual(clock))
    cache.autoTrimInterval = .zero
    for key in 0..<limit { cache.set(key, forKey: key, expiresIn: key % 2 == 0 ? nil : .seconds(10)) }
    clock.advance(by: .seconds(10))
    for key in limit..<limit * 3 / 2 { cache.set(key, forKey: key) }
    let live = Array(stride(from: 0, to: limit, by: 2)) + Array(limit..<limit * 3 / 2)
    for key in live { #expect(cache.contains(key)) }
    // Entries that get their expiry later go first, too.
    cache.set(0, forKey: 0, expiresIn: .seconds(1))
    clock.advance(by: .seconds(1))
    cache.set(-1, forKey: -1)
    for key in live.dropFirst() + [-1] { #expect(cache.contains(key)) }
    #expect(cache.statistics.evictions == 0)
    #expect(cache.statistics.expirations == limit / 2 + 1)
  }

  @Test func ageCountsFromTheLastAccess() {
    let clock = ManualClock()
    let cache = MemoryCache<String, Int>(ageLimit: .seconds(60), clock: .manual(clock))
    cache.set(1, forKey: "read")
    cache.set(2, forKey: "idle")
    for _ in 0..<9 {
      clock.advance(by: .seconds(10))
      #expect(cache.value(forKey: "read") == 1)
    }
    #expect(cache.contains("read"))
    #expect(!cache.contains("idle"))
  }

  @Test func aMemoryWarningEmptiesItAfterTellingTheOwner() {
    let cache = MemoryCache<Int, Int>()
    cache.set(1, forKey: 1)
    cache.didReceiveMemoryWarning = { [weak cache] in #expect(cache?.count == 1) }
    cache.handleMemoryPressure()
    #expect(cache.count == 0)
    cache.set(1, forKey: 1)
    cache.removesAllObjectsOnMemoryWarning = false
    cache.handleMemoryPressure()
    #expect(cache.count == 1)
    cache.handleEnteringBackground()
    #expect(cache.count == 0)
  }

  /// A replaced value may be the owner's last reference, and the owner clears the handlers in its deinit.
  @Test func anOwnerMaySetTheHandlersAsItGoes() {
    let cache = MemoryCache<Int, Int>()
    let isReleased = Guarded(false)
    do {
      let owner = LastWish {
        cache.didReceiveMemoryWarning = nil
        isReleased { $0 = true }
      }
      cache.didReceiveMemoryWarning = { withExtendedLifetime(owner) {} }
    }
    cache.didReceiveMemoryWarning = nil
    #expect(isReleased.current)
  }
}
