import Platform
public import Synchronization

extension MemoryCache {
  /// A negative limit is a mistake, which must not empty the store: it means no limit.
  static func limit(_ limit: Int) -> Int { limit < 0 ? .max : limit }

  /// The maximum number of values, a million by default. Lowering it evicts before the setter returns; 0 empties the
  /// cache. A negative number means no limit, `Int.max`.
  public var countLimit: Int {
    get { countLimits.load(ordering: .relaxed) }
    set {
      countLimits.store(Self.limit(newValue), ordering: .relaxed)
      limitsChanged()
    }
  }

  /// The maximum total cost. Lowering it evicts before the setter returns; 0 leaves only values without cost. A
  /// negative number means no limit, `Int.max`.
  public var costLimit: Int {
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
    shrink(toCount: countLimit, toCost: costLimit)
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
      for contents in old { unsafe contents.deallocate() }
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
        let stamps = target.pointee.core.hasStamps ? old[source].slabs.stamps(slot).pointee : nil
        let place = old[source].table.place(of: slot, tag: UInt32(truncatingIfNeeded: details.hash))
        target.pointee.core.adopt(old[source].table.entry(at: place), details, stamps)
      }
      queues.removeAll { $0.next == MemoryDetails.none }
    }
    mergeStripes()
    reshardings.wrappingAdd(1, ordering: .relaxed)
    mask.store(shards - 1, ordering: .relaxed)
    return old
  }

  /// Each shard takes the latest stamp of all, since groups of keys are now spread differently.
  private func mergeStripes() {
    guard shard(0).pointee.core.hasStamps else { return }
    for stripe in 0..<MemoryCore<Key, Value>.stripeCount {
      var latest: UInt64 = 0
      for number in 0..<Self.shardCount { latest = max(latest, shard(number).pointee.core.stripe(stripe).pointee) }
      for number in 0..<Self.shardCount { shard(number).pointee.core.stripe(stripe).pointee = latest }
    }
  }
}

/// What a trim leaves.
public enum TrimTarget: Sendable {
  /// What the tier's limits allow.
  case limits
  /// At most this many entries.
  case count(Int)
  /// Entries with at most this total cost. 0 removes all, unless every cost is 0.
  case cost(Int)
  /// Entries that were accessed within this duration.
  case age(Duration)

  func check() throws(CacheError) {
    let goal: String
    switch self {
    case .count(let number) where number < 0, .cost(let number) where number < 0: goal = "\(number)"
    case .age(let age) where age < .zero: goal = "\(age)"
    case .limits, .count, .cost, .age: return
    }
    throw CacheError(
      .invalidArgument,
      "A trim takes 0 or more, but got \(goal); nothing was removed. To remove every entry, use removeAll().")
  }
}

extension MemoryCache {
  /// Evicts until the cache is within `target`; ignores a negative one. Blocks other threads for up to 256 evictions. An
  /// age is exact to within 67 ms, and also removes expired values.
  public func trim(to target: TrimTarget) {
    switch target {
    case .limits:
      shrink(toCount: countLimit, toCost: costLimit)
      trimByAge()
    case .count(let count): shrink(toCount: count, toCost: .max)
    case .cost(let cost): shrink(toCount: .max, toCost: cost)
    case .age(let age): trim(toAge: age)
    }
  }

  /// Evicts in turn from all shards.
  func shrink(toCount count: Int, toCost cost: Int) {
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

  private func trim(toAge age: Duration) {
    let nanoseconds = age.clampedNanoseconds
    if nanoseconds < 0 { return }
    if nanoseconds == 0 { return removeAll() }
    sweep(accessedBefore: clock.coarseNow.addingClamped(-nanoseconds))
  }

  private func trimByAge() {
    if let age = ageLimit { trim(toAge: age) } else { sweep(accessedBefore: .min) }
  }

  func sweep(accessedBefore moment: Int64) {
    let now = clock.now
    let tickLength: Int64 = 1 << 26
    hasExpiring.store(false, ordering: .relaxed)
    forEachChunk { shard, slots, releases in
      for slot in slots {
        guard shard.pointee.core.slabs.holds(slot) else { continue }
        let place = shard.pointee.core.place(of: slot)
        let entry = shard.pointee.core.table.entry(at: place)
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
  func forEachChunk(_ body: (MemoryReference<Shard>, Range<UInt32>, inout Releases) -> Void) {
    repeatingIfResharded { for number in 0..<Self.shardCount { forEachChunk(of: shard(number), body) } }
  }

  /// Resharding moves entries to shards that `body` has already seen.
  func repeatingIfResharded(_ body: () -> Void) {
    var seen = -1
    while seen != reshardings.load(ordering: .relaxed) {
      seen = reshardings.load(ordering: .relaxed)
      body()
    }
  }

  private func forEachChunk(
    of shard: MemoryReference<Shard>, _ body: (MemoryReference<Shard>, Range<UInt32>, inout Releases) -> Void
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

extension MemoryCache {
  /// The timer that removes old entries, and its settings.
  struct AutoTrim: Sendable {
    var interval: Duration = .seconds(5)
    var ageLimit: Duration?
    var timer: CacheTimer?
    var isStopped = false
  }

  /// How often old and expired values are removed; zero or less: never. The timer runs only if needed.
  public var autoTrimInterval: Duration {
    get { autoTrim.withLock { $0.interval } }
    set {
      autoTrim.withLock { state in
        guard state.interval != newValue else { return }
        state.interval = newValue
        state.timer = nil
        startTimer(&state)
      }
    }
  }

  /// How long after its last access a value is kept, applied every ``autoTrimInterval``; `nil` or negative for ever.
  public var ageLimit: Duration? {
    get { autoTrim.withLock { $0.ageLimit } }
    set {
      autoTrim.withLock { state in
        // A negative limit is a mistake, which must not empty the store.
        state.ageLimit = newValue.flatMap { $0 < .zero ? nil : $0 }
        startTimer(&state)
      }
    }
  }

  @usableFromInline @inline(never)
  func expiryWasSet() {
    hasExpiring.store(true, ordering: .relaxed)
    autoTrim.withLock { startTimer(&$0) }
  }

  func stopAutoTrim() {
    autoTrim.withLock { state in
      state.isStopped = true
      state.timer = nil
    }
  }

  private func startTimer(_ state: inout AutoTrim) {
    guard state.timer == nil, !state.isStopped, state.interval > .zero else { return }
    guard state.ageLimit != nil || hasExpiring.load(ordering: .relaxed) else { return }
    state.timer = clock.repeating(every: state.interval) { [weak self] in self?.trimByTime() }
  }

  /// One automatic trim; ends the timer if nothing is left to trim by time.
  func trimByTime() {
    trimByAge()
    autoTrim.withLock { state in
      if state.ageLimit == nil, !hasExpiring.load(ordering: .relaxed) { state.timer = nil }
    }
  }
}
