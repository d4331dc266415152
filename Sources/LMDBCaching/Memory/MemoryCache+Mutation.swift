public import Synchronization

extension MemoryCache {
  /// Stores a value unconditionally, for an owner without stamps. The cost is clamped to 0...2^55; a cost over the
  /// limit only removes. `expires` is `Int64.max` for never.
  @inlinable
  package func set(_ key: Key, hash: UInt64, value: consuming Value, cost: Int = 0, expires: Int64 = .max) {
    let tick = ticks.now
    var releases = Releases()
    guard let shard = lockShardToInsert(hash: hash) else { return }
    let isOver = put(
      shard, key, value, hash: hash, cost: cost, expires: expires, stamp: 0, validated: 0, tick: tick, &releases)
    shard.pointee.unlock()
    finish(key, hash: hash, isOver: isOver, expires: expires, releases)
  }

  /// Removes and returns a live value, for an owner without stamps. If the value is not needed, use `drop(_:hash:)`.
  @inlinable
  package func remove(_ key: Key, hash: UInt64) -> Value? {
    guard let shard = lockShard(hash: hash) else { return nil }
    guard let place = shard.pointee.core.find(key, hash: hash) else {
      shard.pointee.unlockUnchanged()
      return nil
    }
    if isExpired(shard, place) {
      var releases = Releases()
      take(shard, place: place, &releases)
      shard.pointee.core.expirations &+= 1
      shard.pointee.unlock()
      release(releases)
      return nil
    }
    let pair = takePair(shard, place: place)
    shard.pointee.core.shrinkAfterRemoval()
    shard.pointee.unlock()
    // The caller may release the value at once.
    if !Self.isPlain(pair) { withExtendedLifetime(pair) { readers.wait() } }
    reclaim()
    return pair.value
  }

  /// Removes a value, and releases it as an evicted one.
  @inlinable
  package func drop(_ key: Key, hash: UInt64) {
    guard let shard = lockShard(hash: hash) else { return }
    guard let place = shard.pointee.core.find(key, hash: hash) else { return shard.pointee.unlockUnchanged() }
    var releases = Releases()
    if isExpired(shard, place) { shard.pointee.core.expirations &+= 1 }
    take(shard, place: place, &releases)
    shard.pointee.core.shrinkAfterRemoval()
    shard.pointee.unlock()
    release(releases)
  }

  /// Releases a refused value as an evicted one.
  @inlinable
  package func refuse(_ value: consuming Value) { release(Pair(key: nil, value: value)) }

  // MARK: Under the lock

  /// Inserts or replaces, evicting from the shard; true when another shard must evict too.
  @inlinable
  func put(
    _ shard: MemoryReference<Shard>, _ key: Key, _ value: consuming Value, hash: UInt64, cost: Int,
    expires: Int64, stamp: UInt64, validated: UInt64, tick: UInt32, _ releases: inout Releases
  ) -> Bool {
    shard.pointee.core.prefetchEnds(hash: hash)
    let place = shard.pointee.core.find(key, hash: hash)
    let countLimit = countLimits.load(ordering: .relaxed)
    let costLimit = costLimits.load(ordering: .relaxed)
    if cost > costLimit || countLimit == 0 {
      if let place { take(shard, place: place, &releases) }
      // Released after the lock: its `deinit` may use the store.
      releases.append(Pair(key: nil, value: value))
      return false
    }
    let clamped = Int64(clamping: min(max(cost, 0), Int(clamping: Int64(1) << 55)))
    if let place {
      let entry = shard.pointee.core.table.entry(at: place)
      let old = entry.pointee.value
      entry.pointee.value = value
      releases.append(Pair(key: nil, value: old))
      entry.pointee.noteUse(in: shard.pointee.core.generation, at: tick)
      if shard.pointee.core.hasStamps {
        stamps(shard, place).pointee = MemoryStamps(stamp: stamp, validated: validated)
      }
      // Avoid touching the details.
      if entry.pointee.hasExpiry || expires != .max {
        entry.pointee.hasExpiry = expires != .max
        shard.pointee.core.details(at: place).pointee.expires = expires
        shard.pointee.core.nextExpiry = min(shard.pointee.core.nextExpiry, expires)
      }
      let oldCost = entry.pointee.hasCost ? shard.pointee.core.details(at: place).pointee.cost : 0
      if clamped == oldCost { return false }
      shard.pointee.core.setCost(clamped, at: place)
      let slot = shard.pointee.core.table.slot(at: place)
      return makeRoom(shard, count: 0, cost: clamped &- oldCost, keeping: slot, countLimit, costLimit, &releases)
    }
    let recollection = shard.pointee.core.recall(hash: hash)
    totals.pointee.share.adapt(to: recollection, count: totals.pointee.count.load(ordering: .relaxed))
    let isOver = makeRoom(shard, count: 1, cost: clamped, keeping: MemoryDetails.none, countLimit, costLimit, &releases)
    shard.pointee.core.add(
      key, value, hash: hash, cost: clamped, expires: expires, stamp: stamp, validated: validated, accessed: tick,
      isMain: recollection != .none)
    return isOver
  }

  /// Adds to the totals after evicting from the shard; `true` if the shard has too little to evict, or reached the
  /// limit of a lock hold.
  ///
  /// - Parameter isFair: Whether a shard with clearly less than its share keeps it. Where costs differ, evictions do
  ///   not match insertions, and some shards would shrink while others grow.
  @inlinable
  func makeRoom(
    _ shard: MemoryReference<Shard>, count: Int, cost: Int64, keeping kept: UInt32, isFair: Bool = true,
    _ countLimit: Int, _ costLimit: Int, _ releases: inout Releases
  ) -> Bool {
    var addedCount = count
    var addedCost = cost
    var evictions = 0
    while true {
      let count = totals.pointee.count.load(ordering: .relaxed) &+ addedCount
      let cost = totals.pointee.cost.load(ordering: .relaxed) &+ UInt64(bitPattern: addedCost)
      let isOverCount = count > countLimit
      if !isOverCount, cost <= UInt64(truncatingIfNeeded: costLimit) {
        if addedCount <= 0, addedCost <= 0 {
          totals.pointee.add(count: addedCount, cost: addedCost)
          return false
        }
        // Another thread may have taken the same room; only the sum tells.
        totals.pointee.add(count: addedCount, cost: addedCost)
        addedCount = 0
        addedCost = 0
        if isWithin(countLimit, costLimit) { return false }
        continue
      }
      var evictedCost: Int64 = 0
      guard evictions < Self.chunk,
        !isFair || shard.pointee.core.hasItsPart(of: isOverCount ? countLimit : costLimit, byCost: !isOverCount),
        let pair = shard.pointee.core.evict(
          byCost: !isOverCount, share: totals.pointee.share.value, keeping: kept, clock: clock, cost: &evictedCost)
      else {
        totals.pointee.add(count: addedCount, cost: addedCost)
        return true
      }
      evictions &+= 1
      addedCount &-= 1
      addedCost &-= evictedCost
      releases.append(pair)
    }
  }

  @inlinable @inline(__always)
  func isWithin(_ countLimit: Int, _ costLimit: Int) -> Bool {
    totals.pointee.count.load(ordering: .relaxed) <= countLimit
      && totals.pointee.cost.load(ordering: .relaxed) <= UInt64(truncatingIfNeeded: costLimit)
  }

  @inlinable
  func take(_ shard: MemoryReference<Shard>, place: Int, _ releases: inout Releases) {
    releases.append(takePair(shard, place: place))
  }

  @inlinable
  func takePair(_ shard: MemoryReference<Shard>, place: Int) -> Pair {
    let cost = shard.pointee.core.details(at: place).pointee.cost
    totals.pointee.add(count: -1, cost: 0 &- cost)
    return shard.pointee.core.take(at: place)
  }

  /// The most removals in one lock hold.
  @inlinable static var chunk: Int { 256 }

  // MARK: After the lock

  @inlinable @inline(__always)
  func finish(_ key: Key, hash: UInt64, isOver: Bool, expires: Int64, _ releases: consuming Releases) {
    release(releases)
    if isOver { relieve(key, hash: hash) }
    if expires != .max, !hasExpiring.load(ordering: .relaxed) { expiryWasSet() }
    if totals.pointee.count.load(ordering: .relaxed) >= splitCount.load(ordering: .relaxed) { reshard() }
  }

  /// Releases removed pairs as the policy says, after their readers.
  @inlinable @inline(__always)
  func release(_ releases: consuming Releases) {
    reclaim()
    // Each is given away: keeping one here could make this the last reference.
    if let pair = releases.first.take() {
      release(consume pair)
      if !releases.rest.isEmpty { release(rest: &releases.rest) }
    }
  }

  @inlinable @inline(never)
  func release(rest pairs: inout [Pair]) {
    while let pair = pairs.popLast() { release(consume pair) }
  }

  @inlinable @inline(__always)
  func release(_ pair: consuming Pair) {
    if Key.self == String.self || _isPOD(Key.self) {
      if Self.isPlain(pair) { return }
      if _isPOD(Value.self) || isCheapToRelease?(pair.value) == true {
        return withExtendedLifetime(pair) { readers.wait() }
      }
    }
    disposal.release(consume pair)
  }

  /// Whether it holds no references, so that releasing it does nothing.
  @inlinable @inline(__always)
  static func isPlain(_ pair: borrowing Pair) -> Bool {
    guard _isPOD(Value.self) else { return false }
    if _isPOD(Key.self) { return true }
    guard let key = pair.key else { return true }
    return !isElsewhere(key)
  }

  @inlinable @inline(__always)
  func reclaim() { if arena.hasRetired.load(ordering: .relaxed) { arena.reclaim(readers) } }
}

extension MemoryCache {
  /// Removes every value, in constant time unless the caller releases them.
  public func removeAll() { empty(closing: false) }

  /// Drops everything and refuses later calls. No body of `access` runs after this returns.
  package func close() {
    // Closing sets the shards' masks, as resharding does.
    resharding.withLock { _ in
      for number in 0..<Self.shardCount {
        let shard = shard(number)
        shard.pointee.lock()
        shard.pointee.core.mask = MemoryCore<Key, Value>.closedMask
        shard.pointee.unlock()
      }
    }
    readers.wait()
    empty(closing: true)
    stopAutoTrim()
  }

  private func empty(closing: Bool) {
    repeatingIfResharded {
      for number in 0..<Self.shardCount {
        let shard = shard(number)
        shard.pointee.lock()
        let contents = shard.pointee.core.count == 0 && !closing ? nil : shard.pointee.core.detach()
        if let contents { totals.pointee.add(count: 0 - contents.count, cost: 0 &- contents.cost) }
        shard.pointee.unlock()
        if let contents { dispose(contents) }
      }
    }
  }

  private func dispose(_ contents: consuming MemoryContents<Key, Value>) {
    readers.wait()
    if contents.count == 0 { return unsafe contents.deallocate() }
    let isCheap = _isPOD(Value.self) && (Key.self == String.self || _isPOD(Key.self))
    if contents.count > Self.chunk, !isCheap {
      let box = ContentsBox(contents)
      // The arena owns the contents' memory.
      if disposal.releaseInBulk({ [arena] in withExtendedLifetime(arena) { Self.destroy(box.contents) } }) { return }
      return drain(box.contents)
    }
    drain(contents)
  }

  private func drain(_ contents: consuming MemoryContents<Key, Value>) {
    unsafe contents.drain { entry in
      let entry = unsafe entry.move()
      release(Pair(key: entry.key, value: entry.value))
    }
  }

  static func destroy(_ contents: consuming MemoryContents<Key, Value>) {
    unsafe contents.drain { entry in _ = unsafe entry.move() }
  }

  // Unchecked: the contents, pointers to `Sendable` keys and values, are handed over whole to one other thread.
  private final class ContentsBox: @unchecked Sendable {
    let contents: MemoryContents<Key, Value>
    init(_ contents: consuming MemoryContents<Key, Value>) { self.contents = contents }
  }

  /// Removes the entries with stamps older than `stamp`, 256 slots in one lock hold.
  package func removeAll(olderThan stamp: UInt64) {
    forEachChunk { shard, slots, releases in
      for slot in slots where shard.pointee.core.slabs.holds(slot) {
        if stampOf(shard, slot) < stamp { take(shard, place: shard.pointee.core.place(of: slot), &releases) }
      }
    }
    compact()
  }

  /// Removes the entries with stamps older than `stamp` whose keys `predicate` accepts.
  ///
  /// `predicate` runs without a lock and may use the store. Concurrent writes may stay or go.
  package func removeAll(olderThan stamp: UInt64, where predicate: (Key) -> Bool) {
    // Keys are gathered first, since the caller's predicate may call the store.
    var keys: [(key: Key, hash: UInt64)] = []
    forEachChunk { shard, slots, releases in
      for slot in slots where shard.pointee.core.slabs.holds(slot) {
        guard stampOf(shard, slot) < stamp else { continue }
        let key = shard.pointee.core.entry(of: slot).pointee.key
        keys.append((key, shard.pointee.core.slabs.details(slot).pointee.hash))
      }
    }
    for (key, hash) in keys where predicate(key) {
      var releases = Releases()
      guard let shard = lockShard(hash: hash) else { return }
      removeOlder(shard, key, hash: hash, stamp: stamp, &releases)
      shard.pointee.unlock()
      release(releases)
    }
    compact()
  }
}
