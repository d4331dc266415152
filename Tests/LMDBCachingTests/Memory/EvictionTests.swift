import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct EvictionTests {
  // MARK: What is remembered

  @Test func aGhostTellsHowItLeft() {
    var ghosts = MemoryGhosts()
    defer { ghosts.deallocate() }
    for tag in UInt32(1)...100 { ghosts.insert(tag &* 0x9E37_79B9, isMain: false, count: 100) }
    ghosts.insert(7, isMain: true, count: 100)
    #expect(ghosts.recall(8, count: 100) == .none)
    #expect(ghosts.recall(100 &* 0x9E37_79B9, count: 100) == .lateInSmall)
    #expect(ghosts.recall(50 &* 0x9E37_79B9, count: 100) == .early)
    // Older than nine tenths of the entries.
    #expect(ghosts.recall(2 &* 0x9E37_79B9, count: 100) == .none)
    #expect(ghosts.recall(7, count: 100) == .lateInMain)
    #expect(ghosts.recall(7, count: 100) == .none, "what was recalled is forgotten")
  }

  @Test func theShareFollowsWhatIsMissed() {
    let share = MemoryShare()
    #expect(abs(share.value - 0.1) < 1e-6)
    for recollection in [MemoryGhosts.Recollection.none, .early] { share.adapt(to: recollection, count: 1_000) }
    #expect(abs(share.value - 0.1) < 1e-6)
    share.adapt(to: .lateInSmall, count: 1_000)
    #expect(abs(share.value - 0.104) < 1e-6)
    for _ in 0..<1_000 { share.adapt(to: .lateInSmall, count: 1_000) }
    #expect(share.value == 1)
    for _ in 0..<1_000 { share.adapt(to: .lateInMain, count: 1_000) }
    #expect(abs(share.value - 0.01) < 1e-6)
    // The minimum number of entries.
    share.adapt(to: .lateInSmall, count: 0)
    #expect(share.value == 1)
  }

  // MARK: Loads

  /// Misses of a cache of `limit` entries, and of an LRU cache of the same size.
  private func misses(of keys: [Int], limit: Int) -> (own: Int, leastRecent: Int, share: Double) {
    let cache = MemoryCache<Int, Int>(countLimit: limit)
    var uses: [Int: Int] = [:]
    var order: [Int: Int] = [:]
    var oldest = 0
    var (own, leastRecent) = (0, 0)
    for (time, key) in keys.enumerated() {
      if cache.value(forKey: key) == nil {
        own += 1
        cache.set(key, forKey: key)
      }
      if uses[key] == nil {
        leastRecent += 1
        while uses.count >= limit {
          if let candidate = order.removeValue(forKey: oldest), uses[candidate] == oldest { uses[candidate] = nil }
          oldest += 1
        }
      }
      uses[key] = time
      order[time] = key
    }
    return (own, leastRecent, cache.totals.pointee.share.value)
  }

  /// A scan: a tenth of the requests go to a few keys, the others to keys that are requested once.
  @Test func aScanDoesNotDriveOutWhatIsUsed() {
    var random = SeededRandom(1)
    let keys = (0..<60_000).map { random.below(10) == 0 ? random.below(100) : 1_000 + $0 }
    let (own, leastRecent, share) = misses(of: keys, limit: 300)
    #expect(own < leastRecent - 2_000, "\(own) \(leastRecent) \(share)")
  }

  /// Keys used a few times and never again: only recency helps, and a small queue of a tenth would be too short. And a
  /// working set that changes completely, again and again.
  @Test(arguments: [(4, 1, 300, 250, 1.25, 0.5), (20_000, 1_000, 400, 200, 1, 0)])
  func whatIsNoLongerUsedGoes(
    _ step: Int, _ stride: Int, _ width: Int, _ limit: Int, _ factor: Double, _ leastShare: Double
  ) {
    var random = SeededRandom(2)
    let keys = (0..<100_000).map { $0 / step * stride + min(random.below(width), random.below(width)) }
    let (own, leastRecent, share) = misses(of: keys, limit: limit)
    #expect(Double(own) < Double(leastRecent) * factor && share > leastShare, "\(own) \(leastRecent) \(share)")
  }

  // MARK: Costs

  /// Evicted entries cost more or less than the new one, which must not shrink a shard's share.
  @Test func shardsKeepTheirPartWhereCostsDiffer() {
    let cache = MemoryCache<Int, Int>(costLimit: 2_000_000)
    var random = SeededRandom(4)
    for number in 0..<400_000 { cache.set(number, forKey: number, cost: 1 + random.below(1_000) * random.below(2)) }
    #expect(cache.totalCost <= 2_000_000 && cache.totalCost > 1_990_000)
    let shards = Int(cache.mask.load(ordering: .relaxed)) + 1
    let parts = (0..<shards).map { cache.shard($0).pointee.core.cost * Int64(shards) }
    #expect(shards > 4 && parts.min()! > 1_600_000 && parts.max()! < 3_500_000)
  }

  @Test func aCostThatIsMostOfTheLimit() {
    let cache = MemoryCache<Int, Int>(costLimit: 2_000_000)
    for number in 0..<20_000 { cache.set(number, forKey: number, cost: 100) }
    for number in 0..<50 {
      cache.set(number, forKey: -1 - number, cost: 1_900_000)
      #expect(cache.totalCost <= 2_000_000)
      #expect(cache.value(forKey: -1 - number) == number)
    }
  }
}
