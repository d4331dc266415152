public import Synchronization

extension MemoryStore {
  /// A negative limit is a mistake, which must not empty the store: it means no limit.
  static func limit(_ limit: Int) -> Int { limit < 0 ? .max : limit }

  /// The maximum number of entries. Lowering it evicts before the setter returns; 0 empties.
  package var countLimit: Int {
    get { countLimits.load(ordering: .relaxed) }
    set {
      countLimits.store(Self.limit(newValue), ordering: .relaxed)
      limitsChanged()
    }
  }

  /// The maximum total cost. Lowering it evicts before the setter returns; 0 leaves only free entries.
  package var costLimit: Int {
    get { costLimits.load(ordering: .relaxed) }
    set {
      costLimits.store(Self.limit(newValue), ordering: .relaxed)
      limitsChanged()
    }
  }

  /// No shard may be locked.
  private func limitsChanged() {
    // A writer uses the limits it read under its shard's lock, and is in the totals when it unlocks that. Only after
    // locking every shard once do the totals include writers with the old limits.
    for number in 0..<Self.shardCount {
      let shard = shard(number)
      shard.pointee.lock()
      shard.pointee.unlockUnchanged()
    }
    trim(toCount: countLimit, toCost: costLimit)
    reshard()
  }

  /// Evicts, for the new entry under `key`, beyond the limits of one lock hold or shard.
  ///
  /// Starts with the entry's shard, then takes the next ones in turn: first those that have their share, then all.
  /// Never holds two locks.
  @inlinable @inline(never)
  func relieve(_ key: Key, hash: UInt64) {
    let mask = mask.load(ordering: .relaxed)
    let own = number(of: hash, mask: mask)
    var step = 0
    while step <= 2 &* mask &+ 1 {
      let countLimit = countLimits.load(ordering: .relaxed)
      let costLimit = costLimits.load(ordering: .relaxed)
      if isWithin(countLimit, costLimit) { return }
      let shard = shard((own &+ step) & mask)
      var releases = Releases()
      shard.pointee.lock()
      var kept = MemoryDetails.none
      if step & mask == 0, let place = shard.pointee.core.find(key, hash: hash) {
        kept = shard.pointee.core.table.slot(at: place)
      }
      let isShort = makeRoom(
        shard, count: 0, cost: 0, keeping: kept, isFair: step <= mask, countLimit, costLimit, &releases)
      shard.pointee.unlock()
      // A shard that filled its chunk may have more to give.
      if !isShort || releases.rest.count < Self.chunk / 2 { step &+= 1 }
      release(releases)
    }
  }

  /// How many shards to use: eviction is exact in one, and close to it in shards of 512 entries and more.
  ///
  /// A cost limit does not tell the number of entries, so such a store starts with one shard.
  static func shardCount(countLimit: Int, costLimit: Int, count: Int) -> Int {
    var expected = countLimit
    if costLimit != .max { expected = min(expected, count) }
    var shards = 1
    while shards < shardCount, expected / 512 >= shards * 2 { shards *= 2 }
    return shards
  }

  static func splitCount(countLimit: Int, costLimit: Int, shards: Int) -> Int {
    let canSplit = costLimit != .max && shards < shardCount(countLimit: countLimit, costLimit: .max, count: 0)
    return canSplit ? shards * 1_024 : .max
  }

  /// Moves the entries into the right number of shards for the limits and the count, under all shards' locks. Moves
  /// few: with more than 8,192 entries there are 16 shards before and after.
  @usableFromInline @inline(never)
  package func reshard() {
    resharding.withLock { _ in
      let (countLimit, costLimit) = (self.countLimit, self.costLimit)
      var shards = Self.shardCount(countLimit: countLimit, costLimit: costLimit, count: count)
      let present = mask.load(ordering: .relaxed) + 1
      // A large store keeps its shards, to avoid moving many entries.
      if shards < present, count > 512 * present { shards = present }
      splitCount.store(
        Self.splitCount(countLimit: countLimit, costLimit: costLimit, shards: shards), ordering: .relaxed)
      if shards == present { return }
      for number in 0..<Self.shardCount { shard(number).pointee.lock() }
      let old = shard(0).pointee.core.isClosed ? [] : move(toShards: shards)
      for number in 0..<Self.shardCount { shard(number).pointee.unlock() }
      readers.wait()
      for contents in old { contents.deallocate() }
    }
    reclaim()
  }

  private func move(toShards shards: Int) -> [MemoryContents<Key, Value>] {
    var old: [MemoryContents<Key, Value>] = []
    var queues: [(source: Int, next: UInt32)] = []
    for number in 0..<Self.shardCount {
      let source = shard(number)
      queues += [(number, source.pointee.core.small.tail), (number, source.pointee.core.main.tail)]
      old.append(source.pointee.core.detach())
      source.pointee.core.mask = Int32(shards - 1)
    }
    // Oldest first and in turn, which nearly keeps the order of the old queues.
    while !queues.isEmpty {
      for position in queues.indices {
        let (source, slot) = queues[position]
        if slot == MemoryDetails.none { continue }
        let details = old[source].slabs.details(slot).pointee
        queues[position].next = details.previous
        let target = shard(number(of: details.hash, mask: shards - 1))
        let stamps = target.pointee.core.stripes == nil ? nil : old[source].slabs.stamps(slot)
        let place = old[source].table.place(of: slot, tag: UInt32(truncatingIfNeeded: details.hash))
        target.pointee.core.adopt(old[source].table.entries + place, details, stamps)
      }
      queues.removeAll { $0.next == MemoryDetails.none }
    }
    mergeStripes()
    generation.wrappingAdd(1, ordering: .relaxed)
    mask.store(shards - 1, ordering: .relaxed)
    return old
  }

  /// Each shard takes the latest stamp of all, since groups of keys are now spread differently.
  private func mergeStripes() {
    guard shard(0).pointee.core.stripes != nil else { return }
    for stripe in 0..<MemoryCore<Key, Value>.stripeCount {
      var latest: UInt64 = 0
      for number in 0..<Self.shardCount { latest = max(latest, shard(number).pointee.core.stripes![stripe]) }
      for number in 0..<Self.shardCount { shard(number).pointee.core.stripes![stripe] = latest }
    }
  }
}
