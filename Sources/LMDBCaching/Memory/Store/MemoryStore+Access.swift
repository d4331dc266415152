public import Synchronization

extension MemoryStore {
  /// Looks `key` up and runs `body` on its live entry, or a copy of it.
  ///
  /// `body` must take a few instructions, call no user code, and not keep its argument. If it returns `nil` the look-up
  /// is a miss, otherwise a hit. It never runs after `close()` has returned.
  @inlinable @inline(__always)
  package func access<R>(
    _ key: Key, hash: UInt64, _ body: (MemoryEntryAccess<Key, Value>) -> R?
  ) -> MemoryAccess<R> {
    access(key, hash: hash, tick: ticks.now, needsStamps: { versions != nil }, body)
  }

  /// Takes the time of the access, and `isFetched` as ``lockShard(hash:isFetched:)``. `needsStamps` returns whether
  /// `body` will read the stamps; it is called before each `body`, under the same conditions.
  @inlinable @inline(__always)
  package func access<R>(
    _ key: Key, hash: UInt64, tick: UInt32, isFetched: Bool = false, needsStamps: () -> Bool,
    _ body: (MemoryEntryAccess<Key, Value>) -> R?
  ) -> MemoryAccess<R> {
    if Self.isCopied {
      if !isFetched { prefetch(hash: hash, mask: mask.load(ordering: .relaxed)) }
      if let reader = readers.enter() {
        let found = look(key, hash: hash, tick: tick, as: reader, needsStamps: needsStamps, body)
        reader.pointee.leave()
        switch found {
        case .hit(let result): return .hit(result)
        case .miss: return .miss
        case .undecided: break
        }
      }
    }
    return accessLocked(key, hash: hash, tick: tick, isFetched: isFetched, needsStamps: needsStamps, body)
  }

  /// Requires the shard's lock.
  @inlinable @inline(never)
  func accessLocked<R>(
    _ key: Key, hash: UInt64, tick: UInt32, isFetched: Bool, needsStamps: () -> Bool,
    _ body: (MemoryEntryAccess<Key, Value>) -> R?
  ) -> MemoryAccess<R> {
    guard let shard = lockShard(hash: hash, isFetched: isFetched) else { return .closed }
    guard let place = shard.pointee.core.find(key, hash: hash) else {
      shard.pointee.core.misses &+= 1
      shard.pointee.unlockUnchanged()
      return .miss
    }
    let entry = shard.pointee.core.table.entries + place
    if isExpired(shard, place) {
      expire(shard, place: place)
      return .miss
    }
    let stamps = needsStamps() ? stamps(shard, place) : nil
    guard let result = body(MemoryEntryAccess(entry: entry, stamps: stamps)) else {
      shard.pointee.core.misses &+= 1
      shard.pointee.unlockUnchanged()
      return .miss
    }
    entry.pointee.noteUse(in: shard.pointee.core.generation, at: tick)
    shard.pointee.core.hits &+= 1
    shard.pointee.unlockUnchanged()
    return .hit(result)
  }

  /// Removes an expired entry, and unlocks the shard.
  @inlinable @inline(never)
  func expire(_ shard: UnsafeMutablePointer<Shard>, place: Int) {
    var releases = Releases()
    let isSuperseded = shard.pointee.core.details(at: place).pointee.expires == Self.superseded
    take(shard, place: place, &releases)
    shard.pointee.core.misses &+= 1
    if !isSuperseded { shard.pointee.core.expirations &+= 1 }
    shard.pointee.unlock()
    release(releases)
  }

  /// Whether a live entry exists. Not an access.
  @inlinable
  package func contains(_ key: Key, hash: UInt64) -> Bool {
    guard let shard = lockShard(hash: hash) else { return false }
    defer { shard.pointee.unlockUnchanged() }
    guard let place = shard.pointee.core.find(key, hash: hash) else { return false }
    return !isExpired(shard, place)
  }

  @inlinable @inline(__always)
  func isExpired(_ shard: UnsafeMutablePointer<Shard>, _ place: Int) -> Bool {
    shard.pointee.core.table.entries[place].hasExpiry
      && shard.pointee.core.details(at: place).pointee.expires <= clock.now
  }

  /// The last access in seconds since 1970, to a tenth of a second, or `nil` if the entry is missing. Not an access.
  package func lastAccess(_ key: Key, hash: UInt64) -> Double? {
    guard let shard = lockShard(hash: hash) else { return nil }
    defer { shard.pointee.unlockUnchanged() }
    guard let place = shard.pointee.core.find(key, hash: hash) else { return nil }
    let tick = shard.pointee.core.table.entries[place].accessed
    return Double(ticks.nanoseconds(of: tick)) / 1e9
  }

  /// Counters since the store was made, of each shard at its own moment.
  package var statistics: MemoryStatistics {
    var sum = MemoryStatistics()
    for number in 0..<Self.shardCount {
      let shard = shard(number)
      shard.pointee.lock()
      sum.hits += shard.pointee.core.hits
      sum.misses += shard.pointee.core.misses
      sum.insertions += shard.pointee.core.insertions
      sum.evictions += shard.pointee.core.evictions
      sum.expirations += shard.pointee.core.expirations
      shard.pointee.unlockUnchanged()
    }
    let counts = readers.counts
    sum.hits += counts.hits
    sum.misses += counts.misses
    return sum
  }
}
