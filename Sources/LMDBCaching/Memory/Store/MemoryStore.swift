public import CPlatform
public import Synchronization

/// The memory tier's core: a map from keys to values with adaptive S3-FIFO eviction, in up to 16 shards.
///
/// Any thread may call it. No callback runs and nothing is released under a shard's lock, except the body given to
/// `access`. Times are wall-clock nanoseconds since 1970. A mutation's stamp is unique and grows; an owner that keeps
/// stamps uses the functions that take one, and only those, and others use `set` and `remove(_:hash:)`.
///
/// # Who may touch what
///
/// | | written by | read by |
/// |---|---|---|
/// | a shard's core: table, entries, slots, queues, ghosts | who holds its lock | the same |
/// | key, value and word of an entry; `expires` and stamps of its details | who holds the lock | anybody, see below |
/// | use and last access of an entry | anybody | anybody |
/// | a shard's view | who holds the lock | anybody |
/// | a thread's line (``MemoryReader``) | that thread | anybody |
/// | totals, limits, the mask | anybody, atomically | anybody |
///
/// **Hits take no lock** (`MemoryStore+Look`). A look-up announces itself in its thread's line, takes the version of the
/// shard's lock, follows the view to the table, copies the entry as bytes, and takes the version again. If it is the same,
/// the copy is the entry as it was at that moment, and only now are its key and value used as such: before, an address may
/// be dereferenced that was read while the version was still that, and nothing else. Then it compares the key, retains the
/// value, notes the use, and leaves its line. After some failures, and for all that is not a hit or a miss (an expired
/// entry, a closed store, a store that changes its number of shards), it leaves its line and takes the lock.
///
/// **What was removed stays until nobody reads it.** A value, a key, the memory of a table or of slots is taken out under
/// the lock, and released after ``MemoryReaders/wait()``, which follows the lock: at once by the caller, or by the disposal
/// queue for a batch at a time (`MemoryStore+Release`, ``DisposalQueue``, ``MemoryArena``). So whoever copied an entry and
/// found the version unchanged can retain its value: its owner has not let go yet. And no address that was read in an
/// unchanged version points to memory that was given back.
///
/// **Nobody waits for a reader while it waits for anything.** A reader waits for no lock of the store; it leaves its line
/// before. Nobody waits for readers with a shard's lock held. A reader that the system stops in between holds up who
/// removes, as the holder of a lock would, and nothing else: the disposal queue has its bound, and callers wait beyond it.
///
/// **Noting a use may hit another entry**, if the table was changed meanwhile: its use or its last access is then taken
/// for a later one. That changes when it is evicted and nothing else; the memory is still the table's, see above.
@usableFromInline
// Unchecked because of the pointers: what the shards' points to is atomic or used as the table above says, and it is freed
// when nobody refers to the store any more.
package final class MemoryStore<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
  @usableFromInline typealias Entry = MemoryEntry<Key, Value>
  @usableFromInline typealias Shard = MemoryShard<Key, Value>
  @usableFromInline typealias Pair = MemoryPair<Key, Value>
  @usableFromInline typealias Releases = MemoryReleases<Key, Value>

  /// One allocation: the totals (128 bytes), the shards.
  @usableFromInline let memory: UnsafeMutableRawPointer
  @usableFromInline let readers: MemoryReaders
  @usableFromInline let arena: MemoryArena
  @usableFromInline let seed = KeyIdentity.seed
  @usableFromInline let ticks: MemoryTicks
  @usableFromInline let clock: CacheClock
  @usableFromInline let disposal: DisposalQueue<Pair>
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
  @inlinable static var shardsOffset: Int { 128 }

  /// - Parameters:
  ///   - countLimit: the most entries to hold; less than 0: no limit.
  ///   - costLimit: the highest total cost to hold; less than 0: no limit.
  ///   - keepsStamps: whether the functions that take a stamp will be used.
  ///   - isCheapToRelease: tells values that the caller may release at once; without it those that hold no reference.
  package init(
    countLimit: Int = .max, costLimit: Int = .max, clock: CacheClock = .system, keepsStamps: Bool = false,
    isCheapToRelease: (@Sendable (Value) -> Bool)? = nil
  ) {
    let (countLimit, costLimit) = (Self.limit(countLimit), Self.limit(costLimit))
    let shards = Self.shardCount(countLimit: countLimit, costLimit: costLimit, count: 0)
    memory = .allocate(byteCount: Self.shardsOffset + Self.shardCount * Shard.stride, alignment: 128)
    self.clock = clock
    self.isCheapToRelease = isCheapToRelease
    versions = keepsStamps ? KeyVersions() : nil
    ticks = MemoryTicks(clock: clock)
    mask = Atomic(shards - 1)
    countLimits = Atomic(countLimit)
    costLimits = Atomic(costLimit)
    splitCount = Atomic(
      Self.splitCount(countLimit: countLimit, costLimit: costLimit, shards: shards))
    memory.bindMemory(to: MemoryTotals.self, capacity: 1).initialize(to: MemoryTotals())
    readers = MemoryReaders()
    disposal = DisposalQueue(readers: readers)
    arena = MemoryArena(chunkBytes: MemorySlabs.slabBytes(keepsStamps: keepsStamps))
    for number in 0..<Self.shardCount {
      let pointer = (memory + Self.shardsOffset + number * Shard.stride).bindMemory(to: Shard.self, capacity: 1)
      pointer.initialize(to: Shard(mask: Int32(shards - 1), arena: .passUnretained(arena)))
      if keepsStamps {
        pointer.pointee.core.stripes = .allocate(capacity: MemoryCore<Key, Value>.stripeCount)
        pointer.pointee.core.stripes!.initialize(repeating: 0, count: MemoryCore<Key, Value>.stripeCount)
      }
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
  var totals: UnsafeMutablePointer<MemoryTotals> {
    memory.assumingMemoryBound(to: MemoryTotals.self)
  }

  @inlinable @inline(__always)
  func number(of hash: UInt64, mask: Int) -> Int { Int(truncatingIfNeeded: hash &>> 60) & mask }

  /// The key's hash, to be passed to the other functions; differs from process to process.
  @inlinable @inline(__always)
  package func hash(of key: Key) -> UInt64 { KeyIdentity.hash(key, seed: seed) }

  /// Has the processor fetch what a look-up of `hash` will read.
  @inlinable @inline(__always)
  func prefetch(hash: UInt64, mask: Int) {
    shard(number(of: hash, mask: mask)).pointee.view.prefetch(hash: hash, stride: MemoryLayout<Entry>.stride)
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
      shard.pointee.lock()
      if Int(shard.pointee.core.mask) == mask { return shard }
      let isClosed = shard.pointee.core.isClosed
      shard.pointee.unlockUnchanged()
      if isClosed { return nil }
    }
  }

  /// The same for an insertion, which changes all of the shard: its lines are most often in another processor's cache, and
  /// come at once rather than one after the other.
  @inlinable @inline(__always)
  func lockShardToInsert(hash: UInt64) -> UnsafeMutablePointer<Shard>? {
    let shard = UnsafeRawPointer(shard(number(of: hash, mask: mask.load(ordering: .relaxed))))
    for offset in stride(from: 0, to: MemoryLayout<Shard>.size, by: 64) { cplatform_prefetch_to_write(shard + offset) }
    return lockShard(hash: hash)
  }

  // MARK: Totals and limits

  /// The number of entries, expired ones that were not removed yet included.
  package var count: Int { max(0, totals.pointee.count.load(ordering: .relaxed)) }

  /// The sum of the entries' costs.
  package var totalCost: Int { Int(clamping: totals.pointee.cost.load(ordering: .relaxed)) }

  package var isClosed: Bool {
    let shard = shard(0)
    shard.pointee.lock()
    defer { shard.pointee.unlockUnchanged() }
    return shard.pointee.core.isClosed
  }
}
