public import CPlatform

/// One shard's entries, queues and ghosts, used only under its lock. Readers without it use the ``MemoryView``.
@frozen @usableFromInline
struct MemoryCore<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
  @usableFromInline typealias Entry = MemoryEntry<Key, Value>
  @usableFromInline typealias Pair = MemoryPair<Key, Value>
  @usableFromInline typealias Table = MemoryTable<Key, Value>

  /// The mask for these contents; `closedMask` once closed.
  @usableFromInline var mask: Int32
  @usableFromInline var generation: UInt8 = 0
  @usableFromInline var table: MemoryTable<Key, Value>
  /// Look-ups under the lock.
  @usableFromInline var hits = 0
  @usableFromInline var misses = 0
  @usableFromInline var slabs: MemorySlabs
  @usableFromInline var small = MemoryQueue()
  @usableFromInline var main = MemoryQueue()
  @usableFromInline var ghosts = MemoryGhosts()
  /// Entries that entered the small queue in this generation.
  @usableFromInline var pushes = 0
  /// The latest stamp for each of 64 groups of keys, or `nil` without stamps.
  @usableFromInline var stripes: UnsafeMutablePointer<UInt64>?
  /// Counts moves of details between slots; a scan that sees a change restarts.
  @usableFromInline var relocations = 0
  @usableFromInline var insertions = 0
  @usableFromInline var evictions = 0
  @usableFromInline var expirations = 0
  /// The first expiry by the wall clock, or `.max`.
  @usableFromInline var nextExpiry: Int64 = .max
  /// The start of the last scan for expired entries, and its next slot; `MemoryDetails.none` at its end.
  @usableFromInline var lastScan: Int64 = 0
  @usableFromInline var scanSlot = MemoryDetails.none

  @inlinable static var stripeCount: Int { 64 }
  @inlinable static var closedMask: Int32 { -1 }

  @inlinable
  init(mask: Int32, arena: Unmanaged<MemoryArena>) {
    self.mask = mask
    table = Table(capacityLog2: Table.smallestLog2, arena: arena)
    slabs = MemorySlabs(arena: arena)
  }

  @inlinable
  var count: Int { small.count &+ main.count }

  @inlinable
  var cost: Int64 { small.cost &+ main.cost }

  @inlinable
  var isClosed: Bool { mask == Self.closedMask }

  @inlinable @inline(__always)
  func stripe(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash &>> 54) & (Self.stripeCount &- 1) }

  // MARK: Looking up

  /// The place of `key`'s entry, valid until an entry is added or removed.
  @inlinable @inline(__always)
  func find(_ key: borrowing Key, hash: UInt64) -> Int? { table.find(key, hash: hash) }

  @inlinable @inline(__always)
  func place(of slot: UInt32) -> Int {
    table.place(of: slot, tag: UInt32(truncatingIfNeeded: slabs.details(slot).pointee.hash))
  }

  @inlinable @inline(__always)
  func entry(of slot: UInt32) -> UnsafeMutablePointer<Entry> { table.entries + place(of: slot) }

  @inlinable @inline(__always)
  func details(at place: Int) -> UnsafeMutablePointer<MemoryDetails> { slabs.details(table.slot(at: place)) }

  // MARK: Adding and removing

  /// Prefetches the queue ends and ghosts that an insertion changes.
  @inlinable @inline(__always)
  func prefetchEnds(hash: UInt64) {
    let tag = UInt32(truncatingIfNeeded: hash)
    cplatform_prefetch_to_write(ghosts.small.set(of: tag))
    cplatform_prefetch_to_write(ghosts.main.set(of: tag))
    prefetchTail(of: small)
    prefetchTail(of: main)
    if small.head != MemoryDetails.none { cplatform_prefetch_to_write(slabs.details(small.head)) }
  }

  @inlinable @inline(__always)
  func prefetchTail(of queue: MemoryQueue) {
    cplatform_prefetch_to_write(queue.tailDetails)
    let home = table.home(of: queue.tailTag)
    cplatform_prefetch_to_write(table.words + home)
    cplatform_prefetch_to_write(table.entries + home)
  }

  /// Returns how the key was evicted, and forgets it.
  @inlinable @inline(__always)
  mutating func recall(hash: UInt64) -> MemoryGhosts.Recollection {
    ghosts.recall(UInt32(truncatingIfNeeded: hash), count: count)
  }

  @inlinable
  mutating func add(
    _ key: Key, _ value: consuming Value, hash: UInt64, cost: Int64, expires: Int64, stamp: UInt64, validated: UInt64,
    accessed: UInt32, isMain: Bool
  ) {
    makePlace()
    nextExpiry = min(nextExpiry, expires)
    let slot = slabs.allocate()
    let entry = table.entries + table.insert(slot, tag: UInt32(truncatingIfNeeded: hash))
    entry.initialize(
      to: Entry(
        key: key, value: value, accessed: accessed, use: MemoryUse(generation: generation), isMain: isMain,
        hasExpiry: expires != .max, hasCost: cost != 0))
    slabs.details(slot).initialize(to: MemoryDetails(hash: hash, cost: cost, expires: expires))
    if stripes != nil { slabs.stamps(slot).initialize(to: MemoryStamps(stamp: stamp, validated: validated)) }
    if isMain { main.push(slot, in: slabs) } else { pushSmall(slot, entry) }
    insertions &+= 1
  }

  /// Moves an entry in from another core's memory, leaving that uninitialized.
  @inlinable
  mutating func adopt(
    _ entry: UnsafeMutablePointer<Entry>, _ details: MemoryDetails, _ stamps: UnsafeMutablePointer<MemoryStamps>?
  ) {
    makePlace()
    nextExpiry = min(nextExpiry, details.expires)
    let slot = slabs.allocate()
    let isMain = entry.pointee.isMain
    let place = table.insert(slot, tag: UInt32(truncatingIfNeeded: details.hash))
    (table.entries + place).moveInitialize(from: entry, count: 1)
    slabs.details(slot).initialize(to: details)
    if let stamps { slabs.stamps(slot).initialize(to: stamps.pointee) }
    if isMain { main.push(slot, in: slabs) } else { small.push(slot, in: slabs) }
  }

  @inlinable @inline(__always)
  mutating func makePlace() {
    if table.isFull(count) { table.resize(toLog2: table.capacityLog2 &+ 1, arena: slabs.arena) }
  }

  /// Removes and returns the entry at a place.
  @inlinable
  mutating func take(at place: Int) -> Pair {
    let slot = table.slot(at: place)
    let entry = (table.entries + place).move()
    table.remove(at: place)
    unlink(slot, isMain: entry.isMain)
    slabs.free(slot)
    return Pair(key: entry.key, value: entry.value)
  }

  // MARK: Queues

  @inlinable @inline(__always)
  mutating func unlink(_ slot: UInt32, isMain: Bool) {
    if isMain { main.unlink(slot, in: slabs) } else { small.unlink(slot, in: slabs) }
  }

  @inlinable
  mutating func setCost(_ cost: Int64, at place: Int) {
    let details = details(at: place)
    let entry = table.entries + place
    let difference = cost &- details.pointee.cost
    details.pointee.cost = cost
    entry.pointee.hasCost = cost != 0
    if entry.pointee.isMain { main.cost &+= difference } else { small.cost &+= difference }
  }
}
