public import Synchronization

/// The memory tier's core: a map from keys to values with adaptive S3-FIFO eviction, in up to 16
/// shards.
///
/// Any thread may call it. No callback runs and nothing is released under a shard's lock, except the body given to
/// `access`. Times are wall-clock nanoseconds since 1970. A mutation's stamp is unique and grows; an owner that keeps
/// stamps uses the functions that take one, and only those, and others use `set` and `remove(_:hash:)`.
@usableFromInline
package final class MemoryStore<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
  // Unchecked because of the pointer to the shards: what it points to is atomic or used under a shard's lock, and it
  // is freed when nobody refers to the store any more.

  @usableFromInline typealias Entry = MemoryEntry<Key, Value>
  @usableFromInline typealias Shard = MemoryShard<Key, Value>
  @usableFromInline typealias Pair = MemoryPair<Key, Value>
  @usableFromInline typealias Releases = MemoryReleases<Key, Value>

  /// One allocation: a hint per shard (256 bytes), the totals (128 bytes), the shards.
  @usableFromInline let memory: UnsafeMutableRawPointer
  let arena: MemoryArena
  @usableFromInline let seed = KeyIdentity.seed
  @usableFromInline let ticks: MemoryTicks
  @usableFromInline let clock: CacheClock
  @usableFromInline let disposal = DisposalQueue<Pair>()
  @usableFromInline let isCheapToRelease: (@Sendable (Value) -> Bool)?
  /// Advanced with every mutation that has a stamp.
  @usableFromInline let versions: KeyVersions?

  /// The number of shards in use less one. A reader checks it again once it holds the shard's lock.
  @usableFromInline let mask: Atomic<Int>
  @usableFromInline let countLimits: Atomic<Int>
  @usableFromInline let costLimits: Atomic<Int>
  /// The count from which more shards would be used.
  @usableFromInline let splitCount: Atomic<Int>
  /// Whether an entry with an expiry may be present, so that the timer has something to look for.
  @usableFromInline let hasExpiring = Atomic<Bool>(false)

  /// Counts the times that entries were moved between shards.
  let generation = Atomic<Int>(0)
  let resharding = Mutex<Void>(())
  let autoTrim = Mutex(AutoTrim())

  @inlinable static var shardCount: Int { 16 }
  @inlinable static var totalsOffset: Int { 256 }
  @inlinable static var shardsOffset: Int { 384 }

  /// - Parameters:
  ///   - countLimit: the most entries to hold, 0 and up.
  ///   - costLimit: the highest total cost to hold, 0 and up.
  ///   - keepsStamps: whether the functions that take a stamp will be used.
  ///   - isCheapToRelease: tells values that the caller may release at once; without it those that hold no reference.
  package init(
    countLimit: Int = .max, costLimit: Int = .max, clock: CacheClock = .system, keepsStamps: Bool = false,
    isCheapToRelease: (@Sendable (Value) -> Bool)? = nil
  ) {
    let shards = Self.shardCount(countLimit: max(0, countLimit), costLimit: max(0, costLimit), count: 0)
    memory = .allocate(byteCount: Self.shardsOffset + Self.shardCount * Shard.stride, alignment: 128)
    self.clock = clock
    self.isCheapToRelease = isCheapToRelease
    versions = keepsStamps ? KeyVersions() : nil
    ticks = MemoryTicks(clock: clock)
    mask = Atomic(shards - 1)
    countLimits = Atomic(max(0, countLimit))
    costLimits = Atomic(max(0, costLimit))
    splitCount = Atomic(
      Self.splitCount(countLimit: max(0, countLimit), costLimit: max(0, costLimit), shards: shards))
    (memory + Self.totalsOffset).bindMemory(to: MemoryTotals.self, capacity: 1).initialize(to: MemoryTotals())
    arena = MemoryArena(chunkBytes: MemorySlabs.slabBytes(keepsStamps: keepsStamps))
    for number in 0..<Self.shardCount {
      let pointer = (memory + Self.shardsOffset + number * Shard.stride).bindMemory(to: Shard.self, capacity: 1)
      pointer.initialize(to: Shard(mask: Int32(shards - 1), arena: .passUnretained(arena)))
      if keepsStamps {
        pointer.pointee.core.stripes = .allocate(capacity: MemoryCore<Key, Value>.stripeCount)
        pointer.pointee.core.stripes!.initialize(repeating: 0, count: MemoryCore<Key, Value>.stripeCount)
      }
      hint(number).initialize(to: MemoryHint())
      publishHint(pointer, number)
    }
  }

  deinit {
    for number in 0..<Self.shardCount {
      let shard = shard(number)
      Self.destroy(shard.pointee.core.detach())
      shard.pointee.core.table.deallocate(arena: .passUnretained(arena))
      shard.pointee.core.slabs.deallocate()
      shard.pointee.core.stripes?.deallocate()
      shard.deinitialize(count: 1)
    }
    memory.deallocate()
  }

  // MARK: Parts

  @inlinable @inline(__always)
  func shard(_ number: Int) -> UnsafeMutablePointer<Shard> {
    (memory + (Self.shardsOffset &+ number &* Shard.stride)).assumingMemoryBound(to: Shard.self)
  }

  @inlinable @inline(__always)
  func hint(_ number: Int) -> UnsafeMutablePointer<MemoryHint> {
    memory.assumingMemoryBound(to: MemoryHint.self) + number
  }

  @inlinable @inline(__always)
  var totals: UnsafeMutablePointer<MemoryTotals> {
    (memory + Self.totalsOffset).assumingMemoryBound(to: MemoryTotals.self)
  }

  @inlinable @inline(__always)
  func number(of hash: UInt64, mask: Int) -> Int { Int(truncatingIfNeeded: hash &>> 60) & mask }

  /// The key's hash, to be passed to the other functions; differs from process to process.
  @inlinable @inline(__always)
  package func hash(of key: Key) -> UInt64 { KeyIdentity.hash(key, seed: seed) }

  /// Has the processor fetch what a look-up of `hash` will read.
  @inlinable @inline(__always)
  func prefetch(hash: UInt64, mask: Int) {
    hint(number(of: hash, mask: mask)).pointee.prefetch(hash: hash, stride: MemoryLayout<Entry>.stride)
  }

  /// Locks the shard of `hash` and returns it, or `nil`, with nothing locked, once the store is closed.
  ///
  /// - Parameter isFetched: Whether ``prefetch(hash:mask:)`` was called some time ago.
  @inlinable @inline(__always)
  func lockShard(hash: UInt64, isFetched: Bool = false) -> UnsafeMutablePointer<Shard>? {
    while true {
      let mask = mask.load(ordering: .relaxed)
      let number = number(of: hash, mask: mask)
      if !isFetched { prefetch(hash: hash, mask: mask) }
      let shard = shard(number)
      shard.pointee.lock.lock()
      if Int(shard.pointee.core.mask) == mask { return shard }
      let isClosed = shard.pointee.core.isClosed
      shard.pointee.lock.unlock()
      if isClosed { return nil }
    }
  }

  /// Ends a critical section in which the table may have been replaced.
  @inlinable @inline(__always)
  func unlock(_ shard: UnsafeMutablePointer<Shard>, hash: UInt64) {
    let number = number(of: hash, mask: Int(shard.pointee.core.mask))
    publishHint(shard, number)
    shard.pointee.lock.unlock()
  }

  @inlinable @inline(__always)
  func publishHint(_ shard: UnsafeMutablePointer<Shard>, _ number: Int) {
    hint(number).pointee.publish(shard.pointee.core.table)
  }

  // MARK: Totals and limits

  /// The number of entries, expired ones that were not removed yet included.
  package var count: Int { max(0, totals.pointee.count.load(ordering: .relaxed)) }

  /// The sum of the entries' costs.
  package var totalCost: Int { Int(clamping: totals.pointee.cost.load(ordering: .relaxed)) }

  package var isClosed: Bool {
    let shard = shard(0)
    return shard.pointee.lock.withLock { shard.pointee.core.isClosed }
  }
}
