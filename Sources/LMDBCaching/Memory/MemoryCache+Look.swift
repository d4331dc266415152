public import CPlatform
public import Synchronization

// Look-ups without a lock; MemoryCache explains why they are correct.

extension MemoryCache {
  /// How often a look-up retries after concurrent changes before it takes the lock.
  @inlinable static var mostAttempts: Int { 8 }

  /// How many places are searched. Only in a table under change can an entry be farther from its home.
  @inlinable static var mostPlaces: Int { 256 }

  /// Whether an entry can be moved bytewise; not so for a type with weak references, for example. A long one is read
  /// under the lock, since copying takes as long.
  @inlinable @inline(__always)
  static var isCopied: Bool {
    MemoryLayout<Entry>.stride <= MemoryReader.scratchBytes && MemoryLayout<Entry>.alignment <= 16
      && _isBitwiseTakable(Key.self) && _isBitwiseTakable(Value.self)
  }

  /// Looks `key` up for an announced reader, and counts the hit or miss; `nil` to look again under the lock.
  @inlinable @inline(__always)
  func look<R>(
    _ key: borrowing Key, hash: UInt64, tick: UInt32, as reader: MemoryReference<MemoryReader>,
    needsStamps: () -> Bool, _ body: (MemoryEntryAccess<Key, Value>) -> R?
  ) -> MemoryAccess<R>? {
    let copy = MemoryReader.scratch(of: reader, as: Entry.self)
    for _ in 0..<Self.mostAttempts {
      let mask = mask.load(ordering: .relaxed)
      let shard = shard(number(of: hash, mask: mask))
      guard let version = shard.pointee.version.version() else { return nil }
      let state = shard.pointee.view.state.load(ordering: .relaxed)
      let words = shard.pointee.view.words.load(ordering: .relaxed)
      let base = shard.pointee.view.entries.load(ordering: .relaxed)
      guard shard.pointee.version.isCurrent(version) else { continue }
      // The store is closed or resharded.
      if Int32(truncatingIfNeeded: state &>> 32) != Int32(truncatingIfNeeded: mask) { return nil }
      guard let found = unsafe Self.search(words, hash: hash) else { return nil }
      guard found.word != 0 else {
        guard shard.pointee.version.isCurrent(version) else { continue }
        reader.pointee.countMiss()
        return .miss
      }
      let entry = base &+ UInt(bitPattern: found.place &* MemoryLayout<Entry>.stride)
      unsafe Self.peek(copy, entry)
      MemoryTable<Key, Value>.prefetchValue(of: copy)
      guard shard.pointee.version.isCurrent(version) else { continue }
      // The entry is valid, and its references stay until this reader leaves.
      let slot = UInt32(truncatingIfNeeded: found.word) &- 1
      guard MemoryTable<Key, Value>.isOf(key, copy) else { return nil }
      if copy.pointee.hasExpiry {
        guard let expires = peekExpiry(shard, version, slot: slot) else { continue }
        if expires <= clock.now { return nil }
      }
      var stamps: MemoryStamps?
      if needsStamps() {
        guard let found = peekStamps(shard, version, slot: slot) else { continue }
        stamps = found
      }
      // The hit is noted before the value is retained: code in between would make the compiler retain it twice.
      unsafe Self.noteUse(entry, copy, in: UInt8(truncatingIfNeeded: state), at: tick)
      reader.pointee.countHit()
      let result = body(MemoryEntryAccess(entry: copy, stamps: stamps))
      if let result { return .hit(result) }
      reader.pointee.countMissForHit()
      return .miss
    }
    return nil
  }

  // MARK: Parts

  /// The first word with the hash's tag, or an empty one; `nil` if neither is near.
  @unsafe @inlinable @inline(__always)
  static func search(_ address: UInt, hash: UInt64) -> (word: UInt64, place: Int)? {
    let tag = hash & 0xFFFF_FFFF
    let shift = UInt64(truncatingIfNeeded: address & 63)
    let mask = Int(truncatingIfNeeded: 0xFFFF_FFFF as UInt64 &>> shift)
    var place = Int(truncatingIfNeeded: tag &>> shift)
    for _ in 0..<mostPlaces {
      let word = unsafe MemoryView.word(at: (address & ~63) &+ UInt(bitPattern: place &* 8))
      if word &>> 32 == tag || word == 0 { return (word, place) }
      place = (place &+ 1) & mask
    }
    return nil
  }

  @unsafe @inlinable @inline(__always)
  static func peek(_ copy: MemoryReference<Entry>, _ entry: UInt) {
    let source = unsafe UnsafeRawPointer(bitPattern: entry).unsafelyUnwrapped
    if MemoryLayout<Entry>.alignment >= 8 {
      unsafe cplatform_peek_words(copy.pointer, source, MemoryLayout<Entry>.stride)
    } else {
      unsafe cplatform_peek_halves(copy.pointer, source, MemoryLayout<Entry>.stride)
    }
  }

  /// Notes a use of the entry behind `copy`. Stores only changes, so that the line of a hot entry stays shared between
  /// the processors.
  @unsafe @inlinable @inline(__always)
  static func noteUse(_ entry: UInt, _ copy: MemoryReference<Entry>, in generation: UInt8, at tick: UInt32) {
    let entry = unsafe UnsafeMutableRawPointer(bitPattern: entry).unsafelyUnwrapped
    let start = unsafe UnsafeRawPointer(copy.pointer)
    let use = copy.pointee.use
    if use.generation != generation {
      let offset = unsafe withUnsafeMutablePointer(to: &copy.pointee.use) { unsafe UnsafeRawPointer($0) - start }
      unsafe cplatform_poke_byte(entry + offset, use.used(in: generation).bits)
    }
    if copy.pointee.accessed != tick {
      let offset = unsafe withUnsafeMutablePointer(to: &copy.pointee.accessed) { unsafe UnsafeRawPointer($0) - start }
      unsafe cplatform_poke_half(entry + offset, tick)
    }
  }

  /// The slot's memory in its chunk, without the field's offset; `nil` after a change.
  @inlinable @inline(__always)
  func peekChunk(_ shard: MemoryReference<Shard>, _ version: UInt64, slot: UInt32) -> UInt? {
    let table = shard.pointee.view.slabs.load(ordering: .relaxed)
    guard shard.pointee.version.isCurrent(version) else { return nil }
    // The base is the first word of a slab.
    let number = UInt(truncatingIfNeeded: slot &>> MemorySlabs.slotsLog2)
    let base = unsafe MemoryView.word(at: table &+ number &* UInt(bitPattern: MemoryLayout<MemorySlab>.stride))
    return shard.pointee.version.isCurrent(version) ? UInt(truncatingIfNeeded: base) : nil
  }

  /// When the slot's entry expires; `nil` after a change.
  @inlinable @inline(never)
  func peekExpiry(_ shard: MemoryReference<Shard>, _ version: UInt64, slot: UInt32) -> Int64? {
    guard let chunk = peekChunk(shard, version, slot: slot) else { return nil }
    let number = Int(truncatingIfNeeded: slot & (MemorySlabs.slotsPerSlab &- 1))
    let offset = number &* MemoryLayout<MemoryDetails>.stride &+ MemoryDetails.expiresOffset
    let expires = unsafe Int64(bitPattern: MemoryView.word(at: chunk &+ UInt(bitPattern: offset)))
    return shard.pointee.version.isCurrent(version) ? expires : nil
  }

  @inlinable @inline(never)
  func peekStamps(_ shard: MemoryReference<Shard>, _ version: UInt64, slot: UInt32) -> MemoryStamps? {
    guard let chunk = peekChunk(shard, version, slot: slot) else { return nil }
    let number = Int(truncatingIfNeeded: slot & (MemorySlabs.slotsPerSlab &- 1))
    let place = chunk &+ UInt(bitPattern: MemorySlabs.stampsOffset &+ number &* MemoryLayout<MemoryStamps>.stride)
    let stamps = unsafe MemoryStamps(stamp: MemoryView.word(at: place), validated: MemoryView.word(at: place &+ 8))
    return shard.pointee.version.isCurrent(version) ? stamps : nil
  }
}

extension MemoryCache {
  /// Looks `key` up and runs `body` on its live entry, or a copy of it.
  ///
  /// `body` must take a few instructions, call no user code, and not keep its argument. If it returns `nil` the look-up
  /// is a miss, otherwise a hit. It never runs after `close()` has returned.
  @inlinable @inline(__always)
  package func access<R>(_ key: Key, hash: UInt64, _ body: (MemoryEntryAccess<Key, Value>) -> R?) -> MemoryAccess<R> {
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
        if let found { return found }
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
    let entry = shard.pointee.core.table.entry(at: place)
    if isExpired(shard, place) {
      expire(shard, place: place)
      return .miss
    }
    let stamps = needsStamps() ? stamps(shard, place).pointee : nil
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
  func expire(_ shard: MemoryReference<Shard>, place: Int) {
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
  func isExpired(_ shard: MemoryReference<Shard>, _ place: Int) -> Bool {
    shard.pointee.core.table.entry(at: place).pointee.hasExpiry
      && shard.pointee.core.details(at: place).pointee.expires <= clock.now
  }

  /// The last access in seconds since 1970, to a tenth of a second, or `nil` if the entry is missing. Not an access.
  package func lastAccess(_ key: Key, hash: UInt64) -> Double? {
    guard let shard = lockShard(hash: hash) else { return nil }
    defer { shard.pointee.unlockUnchanged() }
    guard let place = shard.pointee.core.find(key, hash: hash) else { return nil }
    let tick = shard.pointee.core.table.entry(at: place).pointee.accessed
    return Double(ticks.nanoseconds(of: tick)) / 1e9
  }

  /// Counters since the cache was made, of each shard at its own moment.
  public var statistics: MemoryStatistics {
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

/// The result of a look-up.
@frozen
@usableFromInline package enum MemoryAccess<Result> {
  case hit(Result)
  case miss
  case closed
}

/// A live entry, or a copy of it, for the body of `MemoryCache.access`; valid only in it.
@frozen @usableFromInline
package struct MemoryEntryAccess<Key, Value> {
  @usableFromInline let entry: MemoryReference<MemoryEntry<Key, Value>>
  @usableFromInline let stamps: MemoryStamps?

  @inlinable @inline(__always)
  init(entry: MemoryReference<MemoryEntry<Key, Value>>, stamps: MemoryStamps?) {
    self.entry = entry
    self.stamps = stamps
  }

  @inlinable @inline(__always)
  package var value: Value { entry.pointee.value }

  @inlinable @inline(__always)
  package var stamp: UInt64 { stamps?.stamp ?? 0 }

  /// The owner's word; 0 in a store without stamps.
  @inlinable @inline(__always)
  package var validated: UInt64 { stamps?.validated ?? 0 }
}

/// The result of a mutation.
@frozen
@usableFromInline package enum MemoryOutcome: Sendable, Equatable {
  /// The value is stored (an entry over the cost limit was removed instead).
  case done
  /// A newer mutation came first; older values are gone.
  case superseded
  case closed
}
