import Platform
public import Synchronization

extension MemoryStore {
  /// Evicts in turn from all shards down to `count` entries and `cost`, at most 256 entries in one lock hold. Negative
  /// numbers are ignored.
  @inlinable
  package func trim(toCount count: Int = .max, toCost cost: Int = .max) {
    let (count, cost) = (count < 0 ? .max : count, cost < 0 ? .max : cost)
    if isWithin(count, cost) { return }
    if count == 0 { return removeAll() }
    var isProgressing = true
    while isProgressing, !isWithin(count, cost) {
      isProgressing = false
      let mask = mask.load(ordering: .relaxed)
      for number in 0...mask where evictChunk(number, of: mask &+ 1, toCount: count, toCost: cost) {
        isProgressing = true
      }
    }
    compact()
  }

  /// Evicts a shard's share of the excess, at most a chunk; `false` if that was empty.
  @inlinable
  func evictChunk(_ number: Int, of shards: Int, toCount count: Int, toCost cost: Int) -> Bool {
    let excess = totals.pointee.count.load(ordering: .relaxed) &- count
    let excessCost = Int64(clamping: totals.pointee.cost.load(ordering: .relaxed)) &- Int64(cost)
    let quota = max(0, excess) / shards &+ 1
    let costQuota = max(0, excessCost) / Int64(shards) &+ 1
    var (taken, takenCost) = (0, Int64(0))
    var releases = Releases()
    let shard = shard(number)
    shard.pointee.lock()
    while taken < Self.chunk, !isWithin(count, cost),
      taken < quota && excess > 0 || takenCost < costQuota && excessCost > 0
    {
      var evictedCost: Int64 = 0
      let isOverCount = totals.pointee.count.load(ordering: .relaxed) > count
      guard
        let pair = shard.pointee.core.evict(
          byCost: !isOverCount, share: totals.pointee.share.value, keeping: MemoryDetails.none, clock: clock,
          cost: &evictedCost)
      else { break }
      totals.pointee.add(count: -1, cost: 0 &- evictedCost)
      releases.append(pair)
      taken &+= 1
      takenCost &+= evictedCost
    }
    shard.pointee.unlock()
    release(releases)
    return taken > 0
  }

  /// Removes expired entries and those whose last access is longer ago than `age`, rounded up to 67 ms. Negative ages
  /// are ignored.
  package func trim(toAge age: Duration) {
    let nanoseconds = age.clampedNanoseconds
    if nanoseconds < 0 { return }
    if nanoseconds == 0 { return removeAll() }
    sweep(accessedBefore: clock.coarseNow.addingClamped(-nanoseconds))
  }

  package func removeExpired() { sweep(accessedBefore: .min) }

  func sweep(accessedBefore moment: Int64) {
    let now = clock.now
    let tickLength: Int64 = 1 << 26
    hasExpiring.store(false, ordering: .relaxed)
    forEachChunk { shard, slots, releases in
      for slot in slots {
        guard shard.pointee.core.slabs.holds(slot) else { continue }
        let place = shard.pointee.core.place(of: slot)
        let entry = shard.pointee.core.table.entries + place
        let isExpired = entry.pointee.hasExpiry && shard.pointee.core.slabs.details(slot).pointee.expires <= now
        guard isExpired || ticks.nanoseconds(of: entry.pointee.accessed) &+ tickLength <= moment else {
          if entry.pointee.hasExpiry { hasExpiring.store(true, ordering: .relaxed) }
          continue
        }
        if isExpired { shard.pointee.core.expirations += 1 } else { shard.pointee.core.evictions += 1 }
        take(shard, place: place, &releases)
      }
    }
    compact()
  }

  // MARK: Scanning

  /// Runs `body` under the lock of each shard on one chunk of slots after the other, then releases the removed entries.
  ///
  /// It visits all entries that stay throughout, some perhaps twice; `body` may remove any of the chunk.
  func forEachChunk(_ body: (UnsafeMutablePointer<Shard>, Range<UInt32>, inout Releases) -> Void) {
    var generation = -1
    while generation != self.generation.load(ordering: .relaxed) {
      generation = self.generation.load(ordering: .relaxed)
      for number in 0..<Self.shardCount { forEachChunk(of: shard(number), body) }
    }
  }

  private func forEachChunk(
    of shard: UnsafeMutablePointer<Shard>,
    _ body: (UnsafeMutablePointer<Shard>, Range<UInt32>, inout Releases) -> Void
  ) {
    var chunk: Int32 = 0
    var relocations = -1
    while true {
      var releases = Releases()
      shard.pointee.lock()
      if relocations != shard.pointee.core.relocations {
        // Details moved between chunks: an unvisited one may now be in a visited chunk.
        relocations = shard.pointee.core.relocations
        chunk = 0
      }
      let isEnd = chunk >= shard.pointee.core.slabs.tableCount
      if !isEnd { body(shard, shard.pointee.core.slabs.slots(ofChunk: chunk), &releases) }
      shard.pointee.unlock()
      release(releases)
      if isEnd { return }
      chunk += 1
    }
  }

  /// Returns memory after many removals.
  @inlinable
  func compact() {
    for number in 0..<Self.shardCount {
      let shard = shard(number)
      var isDone = false
      while !isDone {
        shard.pointee.lock()
        isDone = !shard.pointee.core.compact()
        if isDone { shard.pointee.core.shrinkTable() }
        shard.pointee.unlock()
        reclaim()
      }
    }
  }
}
