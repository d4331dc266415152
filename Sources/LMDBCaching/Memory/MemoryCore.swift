/// One shard's entries, index, queues and ghost; every member is used under the shard's lock only.
///
/// The fields that a hit reads come first, so that with the lock they share one cache line.
@frozen @usableFromInline
struct MemoryCore<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
  @usableFromInline typealias Entry = MemoryEntry<Key, Value>
  @usableFromInline typealias Pair = MemoryPair<Key, Value>

  /// The shard mask these contents were placed by; `closedMask` once closed.
  @usableFromInline var mask: Int
  @usableFromInline var index: MemoryIndex
  @usableFromInline var hits = 0
  @usableFromInline var misses = 0
  @usableFromInline var slabs: MemorySlabs<Key, Value>
  @usableFromInline var small = MemoryQueue()
  @usableFromInline var main = MemoryQueue()
  @usableFromInline var ghost = MemoryGhost()
  /// The latest mutation's stamp for each of 64 groups of keys; nil where the owner keeps no stamps.
  @usableFromInline var stripes: UnsafeMutablePointer<UInt64>?
  /// Moves of entries between slots; a scan that sees it change starts again.
  @usableFromInline var relocations = 0
  @usableFromInline var insertions = 0
  @usableFromInline var evictions = 0
  @usableFromInline var expirations = 0

  @inlinable static var stripeCount: Int { 64 }
  @inlinable static var closedMask: Int { -1 }

  @inlinable
  init(mask: Int, arena: Unmanaged<MemoryArena>) {
    self.mask = mask
    index = MemoryIndex(capacityLog2: MemoryIndex.smallestLog2)
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

  /// The place in the index of `key`'s entry; nil: there is none.
  @inlinable @inline(__always)
  func find(_ key: borrowing Key, hash: UInt64) -> Int? {
    let tag = UInt64(truncatingIfNeeded: hash & 0xFFFF_FFFF)
    var place = index.home(of: UInt32(truncatingIfNeeded: tag))
    while true {
      let word = index.words[place]
      if word &>> 32 == tag, word != 0 {
        let entry = slabs.entry(slot(of: word))
        if KeyIdentity.same(entry.pointee.key, copy key) { return place }
      } else if word == 0 {
        return nil
      }
      place = index.next(place)
    }
  }

  @inlinable @inline(__always)
  func slot(of word: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: word) &- 1 }

  @inlinable @inline(__always)
  func slot(at place: Int) -> UInt32 { slot(of: index.words[place]) }

  // MARK: Adding and removing

  /// Adds an entry for a key that has none; the ghost decides the queue.
  @inlinable
  mutating func add(
    _ key: Key, _ value: consuming Value, hash: UInt64, cost: Int64, expires: Int64, stamp: UInt64, validated: UInt64,
    accessed: UInt32
  ) {
    let tag = UInt32(truncatingIfNeeded: hash)
    let isMain = ghost.words != nil && ghost.take(tag, window: ghostWindow)
    if (count &+ 1) &* 16 > index.capacity &* 13 { index.resize(toLog2: 33 &- index.shift) }
    let slot = slabs.allocate()
    slabs.entry(slot).initialize(
      to: Entry(
        key: key, value: value, accessed: accessed, isMain: isMain, hasExpiry: expires != .max, hasCost: cost != 0))
    slabs.details(slot).initialize(to: MemoryDetails(hash: hash, cost: cost, expires: expires))
    if stripes != nil { slabs.stamps(slot).initialize(to: MemoryStamps(stamp: stamp, validated: validated)) }
    push(slot, isMain: isMain)
    index.insert(slot, tag: tag)
    insertions &+= 1
  }

  /// Moves an entry in from another core's memory, leaving that uninitialised.
  @inlinable
  mutating func adopt(
    _ entry: UnsafeMutablePointer<Entry>, _ details: MemoryDetails, _ stamps: UnsafeMutablePointer<MemoryStamps>?
  ) {
    if (count &+ 1) &* 16 > index.capacity &* 13 { index.resize(toLog2: 33 &- index.shift) }
    let slot = slabs.allocate()
    slabs.entry(slot).moveInitialize(from: entry, count: 1)
    slabs.details(slot).initialize(to: details)
    if let stamps { slabs.stamps(slot).initialize(to: stamps.pointee) }
    push(slot, isMain: slabs.entry(slot).pointee.isMain)
    index.insert(slot, tag: UInt32(truncatingIfNeeded: details.hash))
  }

  /// Removes the entry at a place of the index and returns what it held.
  @inlinable
  mutating func take(at place: Int) -> Pair {
    let slot = slot(at: place)
    index.remove(at: place)
    unlink(slot)
    let entry = slabs.entry(slot).move()
    slabs.free(slot)
    return Pair(key: entry.key, value: entry.value)
  }

  /// Removes the entry in `slot`.
  @inlinable
  mutating func take(slot: UInt32) -> Pair {
    let hash = slabs.details(slot).pointee.hash
    return take(at: index.place(of: slot, tag: UInt32(truncatingIfNeeded: hash)))
  }

  // MARK: Queues

  /// Puts a slot, whose details are set but for the links, at the head of a queue.
  @inlinable @inline(__always)
  mutating func push(_ slot: UInt32, isMain: Bool) {
    if isMain { main.push(slot, in: slabs) } else { small.push(slot, in: slabs) }
  }

  @inlinable @inline(__always)
  mutating func unlink(_ slot: UInt32) {
    if slabs.entry(slot).pointee.isMain { main.unlink(slot, in: slabs) } else { small.unlink(slot, in: slabs) }
  }

  /// Changes an entry's cost in place.
  @inlinable
  mutating func setCost(_ cost: Int64, of slot: UInt32) {
    let details = slabs.details(slot)
    let difference = cost &- details.pointee.cost
    details.pointee.cost = cost
    slabs.entry(slot).pointee.hasCost = cost != 0
    if slabs.entry(slot).pointee.isMain { main.cost &+= difference } else { small.cost &+= difference }
  }
}
