public import CPlatform
public import CXXHash
public import Synchronization

/// One shard's entries, queues and ghosts, used only under its lock. Readers without it use the ``MemoryView``.
@safe @frozen @usableFromInline
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
  init(mask: Int32, arena: MemoryArena) {
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
  var hasStamps: Bool { unsafe stripes != nil }

  /// The latest stamp of a group, in a store with stamps.
  @inlinable @inline(__always)
  func stripe(_ number: Int) -> MemoryReference<UInt64> {
    guard let stripes = unsafe stripes else { preconditionFailure("The store was made without stamps.") }
    return unsafe MemoryReference(stripes + (number & (Self.stripeCount &- 1)))
  }

  @inlinable @inline(__always)
  func stripe(of hash: UInt64) -> MemoryReference<UInt64> { stripe(Int(truncatingIfNeeded: hash &>> 54)) }

  /// Allocates the latest stamps; `freeStripes` frees them.
  mutating func makeStripes() {
    unsafe stripes = .allocate(capacity: Self.stripeCount)
    unsafe stripes?.initialize(repeating: 0, count: Self.stripeCount)
  }

  @unsafe func freeStripes() { unsafe stripes?.deallocate() }

  // MARK: Looking up

  /// The place of `key`'s entry, valid until an entry is added or removed.
  @inlinable @inline(__always)
  func find(_ key: borrowing Key, hash: UInt64) -> Int? { table.find(key, hash: hash) }

  @inlinable @inline(__always)
  func place(of slot: UInt32) -> Int {
    table.place(of: slot, tag: UInt32(truncatingIfNeeded: slabs.details(slot).pointee.hash))
  }

  @inlinable @inline(__always)
  func entry(of slot: UInt32) -> MemoryReference<Entry> { table.entry(at: place(of: slot)) }

  @inlinable @inline(__always)
  func details(at place: Int) -> MemoryReference<MemoryDetails> { slabs.details(table.slot(at: place)) }

  // MARK: Adding and removing

  /// Prefetches the queue ends and ghosts that an insertion changes.
  @inlinable @inline(__always)
  func prefetchEnds(hash: UInt64) {
    let tag = UInt32(truncatingIfNeeded: hash)
    ghosts.small.prefetch(tag)
    ghosts.main.prefetch(tag)
    prefetchTail(of: small)
    prefetchTail(of: main)
    if small.head != MemoryDetails.none { slabs.details(small.head).prefetch() }
  }

  @inlinable @inline(__always)
  func prefetchTail(of queue: MemoryQueue) {
    unsafe cplatform_prefetch_to_write(UnsafeRawPointer(bitPattern: queue.tailDetails))
    table.prefetch(home: table.home(of: queue.tailTag))
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
    let entry = table.entry(at: table.insert(slot, tag: UInt32(truncatingIfNeeded: hash)))
    entry.initialize(
      to: Entry(
        key: key, value: value, accessed: accessed, use: MemoryUse(generation: generation), isMain: isMain,
        hasExpiry: expires != .max, hasCost: cost != 0))
    slabs.details(slot).initialize(to: MemoryDetails(hash: hash, cost: cost, expires: expires))
    if hasStamps { slabs.stamps(slot).initialize(to: MemoryStamps(stamp: stamp, validated: validated)) }
    if isMain { main.push(slot, in: slabs) } else { pushSmall(slot, entry) }
    insertions &+= 1
  }

  /// Moves an entry in from another core's memory, leaving that uninitialized.
  mutating func adopt(_ entry: MemoryReference<Entry>, _ details: MemoryDetails, _ stamps: MemoryStamps?) {
    makePlace()
    nextExpiry = min(nextExpiry, details.expires)
    let slot = slabs.allocate()
    let isMain = entry.pointee.isMain
    let place = table.insert(slot, tag: UInt32(truncatingIfNeeded: details.hash))
    unsafe table.entry(at: place).move(from: entry)
    slabs.details(slot).initialize(to: details)
    if let stamps { slabs.stamps(slot).initialize(to: stamps) }
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
    let entry = unsafe table.entry(at: place).move()
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
    let entry = table.entry(at: place)
    let difference = cost &- details.pointee.cost
    details.pointee.cost = cost
    entry.pointee.hasCost = cost != 0
    if entry.pointee.isMain { main.cost &+= difference } else { small.cost &+= difference }
  }
}

extension MemoryCore {
  /// Moves the last chunk of slots into the others if the rest has twice the needed room; otherwise returns `false`.
  /// Called after many removals to free memory.
  mutating func compact() -> Bool {
    guard slabs.chunks > 1, Int(slabs.chunks) &* Int(MemorySlabs.slotsPerSlab) > count &* 2 else {
      return false
    }
    var last = slabs.tableCount - 1
    while slabs.slab(last).pointee.isFreed { last -= 1 }
    // Out of the list of chunks with room, so that the entries do not move within it.
    let slab = slabs.slab(last)
    if slab.pointee.live < MemorySlabs.slotsPerSlab { slabs.unlinkPartial(last) }
    let first = UInt32(bitPattern: last) << MemorySlabs.slotsLog2
    for slot in first..<(first + slab.pointee.fresh) where slabs.isLive(slot) { relocate(slot) }
    relocations &+= 1
    // A scan may have missed what moved.
    nextExpiry = 0
    slab.pointee.live = 0
    slabs.linkPartial(last)
    slabs.removeSlab(last)
    return true
  }

  mutating func relocate(_ old: UInt32) {
    let place = place(of: old)
    let new = slabs.allocate()
    let links = slabs.details(old).pointee
    slabs.details(new).initialize(to: links)
    if hasStamps { slabs.stamps(new).initialize(to: slabs.stamps(old).pointee) }
    table.word(place).pointee = table.word(place).pointee & ~0xFFFF_FFFF | UInt64(new + 1)
    let isMain = table.entry(at: place).pointee.isMain
    if links.previous != MemoryDetails.none {
      slabs.details(links.previous).pointee.next = new
    } else if isMain {
      main.head = new
    } else {
      small.head = new
    }
    if links.next != MemoryDetails.none {
      slabs.details(links.next).pointee.previous = new
    } else if isMain {
      main.tail = new
    } else {
      small.tail = new
    }
  }

  /// Halves the table repeatedly while its entries fill less than five eighths of the result.
  @inlinable
  mutating func shrinkTable() {
    var log2 = table.capacityLog2
    while log2 > Table.smallestLog2, (5 << Int(log2 - 1)) > count * 8 { log2 -= 1 }
    if log2 < table.capacityLog2 { table.resize(toLog2: log2, arena: slabs.arena) }
  }

  /// Shrinks a nearly empty table, at a cost that is small compared to the removals.
  @inlinable @inline(__always)
  mutating func shrinkAfterRemoval() {
    if count &* 16 < table.capacity, table.capacityLog2 > 8 { shrinkTable() }
  }

  /// Detaches the contents in constant time, so that a large shard is emptied in a short lock hold.
  mutating func detach() -> MemoryContents<Key, Value> {
    let contents = MemoryContents(table: table, slabs: slabs, ghosts: ghosts, count: count, cost: cost)
    table = Table(capacityLog2: Table.smallestLog2, arena: slabs.arena)
    slabs = MemorySlabs(arena: slabs.arena)
    small = MemoryQueue()
    main = MemoryQueue()
    ghosts = MemoryGhosts()
    pushes = 0
    relocations &+= 1
    return contents
  }
}

/// A part of the cache under a separate lock. Its first cache line holds the data that a hit reads (the lock's version
/// and the view); a hit writes nothing here.
@frozen @usableFromInline
struct MemoryShard<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
  /// The thread sanitizer attributes any modification to the first word, so that must not be the lock, which other
  /// threads use.
  @usableFromInline let first = 0
  @usableFromInline let version = VersionedLock()
  @usableFromInline let view = MemoryView()
  @usableFromInline var core: MemoryCore<Key, Value>

  @inlinable
  init(mask: Int32, arena: MemoryArena) {
    core = MemoryCore(mask: mask, arena: arena)
    view.publish(core)
  }

  /// The distance between shards: whole pairs of cache lines, as the prefetcher fetches those.
  @inlinable static var stride: Int { (MemoryLayout<Self>.stride &+ 127) & ~127 }

  @inlinable @inline(__always)
  borrowing func lock() { version.lock() }

  /// Publishes the changed core and unlocks.
  @inlinable @inline(__always)
  borrowing func unlock() {
    view.publish(core)
    version.unlock()
  }

  /// Unlocks if only counters, group stamps and uses have changed.
  @inlinable @inline(__always)
  borrowing func unlockUnchanged() { version.unlockUnchanged() }
}

/// A shard's detached contents. Owned memory: `drain` frees it.
struct MemoryContents<Key, Value> {
  let table: MemoryTable<Key, Value>
  let slabs: MemorySlabs
  let ghosts: MemoryGhosts
  let count: Int
  let cost: Int64

  /// Passes every entry to `body`, which must move it out, and frees the memory.
  @unsafe consuming func drain(_ body: (MemoryReference<MemoryEntry<Key, Value>>) -> Void) {
    for place in 0..<table.capacity where table.word(place).pointee != 0 { body(table.entry(at: place)) }
    unsafe deallocate()
  }

  @unsafe func deallocate() {
    unsafe table.deallocate(arena: slabs.arena)
    unsafe slabs.deallocate()
    unsafe ghosts.deallocate()
  }
}

/// The uses of an entry since it entered its queue, in one byte that a hit may change.
///
/// Uses are counted once per *generation*, in which a quarter of the small queue is replaced. So a burst counts once,
/// an entry passes through the queue in four generations, and a hot entry is written once per generation.
@frozen @usableFromInline
struct MemoryUse: Equatable {
  /// Generation of the last use (4 bits), number of uses (2 bits), used in this queue (1 bit).
  @usableFromInline var bits: UInt8

  @inlinable static var generations: UInt8 { 16 }
  @inlinable static var most: UInt8 { 3 }

  /// For an entry that enters its first queue.
  @inlinable @inline(__always)
  init(generation: UInt8) { bits = generation }

  @inlinable @inline(__always)
  init(bits: UInt8) { self.bits = bits }

  @inlinable @inline(__always)
  var generation: UInt8 { bits & 0x0F }

  @inlinable @inline(__always)
  var count: UInt8 {
    get { bits &>> 4 & 3 }
    set { bits = bits & 0xCF | newValue &<< 4 }
  }

  @inlinable @inline(__always)
  var isTouched: Bool { bits & 0x40 != 0 }

  /// After a use in another generation.
  @inlinable @inline(__always)
  func used(in generation: UInt8) -> MemoryUse {
    MemoryUse(bits: generation | min(Self.most, count &+ 1) &<< 4 | 0x40)
  }

  /// At its second chance in the small queue: the uses stay.
  @inlinable @inline(__always)
  func queued(in generation: UInt8) -> MemoryUse { MemoryUse(bits: bits & 0x30 | generation) }
}

/// The addresses of a shard's table, for readers without its lock. The lock's holder writes it before unlocking.
///
/// Words may be of different moments: they are used only after the lock's version proves that they belong together, or
/// for prefetching.
@frozen @usableFromInline
struct MemoryView: ~Copyable {
  /// The address of the table's words, a multiple of 64, and the shift to a tag's home.
  @usableFromInline let words = Atomic<UInt>(0)
  @usableFromInline let entries = Atomic<UInt>(0)
  @usableFromInline let slabs = Atomic<UInt>(0)
  /// The mask in the upper half; the generation.
  @usableFromInline let state = Atomic<UInt64>(0)

  @inlinable
  init() {}

  /// Reads an address that a reader has found (see ``MemoryCache``). Another thread may be writing it.
  @unsafe @inlinable @inline(__always)
  static func word(at address: UInt) -> UInt64 {
    unsafe cplatform_peek(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
  }

  /// Any address is valid.
  @inlinable @inline(__always)
  static func prefetch(_ address: UInt) { unsafe cxxhash_prefetch(UnsafeRawPointer(bitPattern: address)) }

  /// Prefetches the home of `hash` and the places just behind it.
  @inlinable @inline(__always)
  borrowing func prefetch(hash: UInt64, stride: Int) {
    let words = words.load(ordering: .relaxed)
    let home = UInt(truncatingIfNeeded: (hash & 0xFFFF_FFFF) &>> UInt64(truncatingIfNeeded: words & 63))
    Self.prefetch((words & ~63) &+ home &* 8)
    let entry = entries.load(ordering: .relaxed) &+ home &* UInt(bitPattern: stride)
    Self.prefetch(entry)
    // In a table that is three quarters full every other entry is a place or two behind its home.
    Self.prefetch(entry &+ 64)
  }

  @inlinable @inline(__always)
  borrowing func publish<Key, Value>(_ core: borrowing MemoryCore<Key, Value>) {
    let address = unsafe UInt(bitPattern: core.table.words) | UInt(truncatingIfNeeded: core.table.shift)
    if words.load(ordering: .relaxed) != address {
      words.store(address, ordering: .relaxed)
      unsafe entries.store(UInt(bitPattern: core.table.entries), ordering: .relaxed)
    }
    let slabs = unsafe UInt(bitPattern: core.slabs.table)
    if self.slabs.load(ordering: .relaxed) != slabs { self.slabs.store(slabs, ordering: .relaxed) }
    let state = Self.state(mask: core.mask, generation: core.generation)
    if self.state.load(ordering: .relaxed) != state { self.state.store(state, ordering: .relaxed) }
  }

  @inlinable @inline(__always)
  static func state(mask: Int32, generation: UInt8) -> UInt64 {
    UInt64(UInt32(bitPattern: mask)) &<< 32 | UInt64(generation)
  }
}

/// An open-addressing table: parallel arrays of words, 8 bytes a place, and of entries.
///
/// A word is `tag << 32 | slot + 1` with the slot of the entry's details, or 0 for an empty place. The hash alone gives
/// the addresses of a word and its entry, so both are fetched at once. A tag's home is its leading bits, so growing
/// moves entries in order and hashes nothing. Linear probing; deletion shifts the cluster back instead of leaving
/// tombstones, while details stay. Owned memory: `deallocate` frees it once empty.
@safe @frozen @usableFromInline
struct MemoryTable<Key, Value> {
  @usableFromInline typealias Entry = MemoryEntry<Key, Value>

  @usableFromInline var words: UnsafeMutablePointer<UInt64>
  @usableFromInline var entries: UnsafeMutablePointer<Entry>
  @usableFromInline var mask: UInt32
  @usableFromInline var shift: UInt32

  @inlinable
  init(capacityLog2: UInt32, arena: MemoryArena) {
    let capacity = 1 << Int(capacityLog2)
    unsafe words = unsafe arena.allocate(bytes: capacity * 8).initializeMemory(
      as: UInt64.self, repeating: 0, count: capacity)
    let memory = unsafe arena.allocate(bytes: capacity * MemoryLayout<Entry>.stride)
    unsafe entries = unsafe memory.bindMemory(to: Entry.self, capacity: capacity)
    mask = UInt32(truncatingIfNeeded: capacity - 1)
    shift = 32 - capacityLog2
  }

  @inlinable @inline(__always)
  static var valueOffset: Int {
    (MemoryLayout<Key>.size &+ MemoryLayout<Value>.alignment &- 1) & ~(MemoryLayout<Value>.alignment &- 1)
  }

  @inlinable static var smallestLog2: UInt32 { 4 }

  @inlinable
  var capacityLog2: UInt32 { 32 &- shift }

  @inlinable
  var capacity: Int { Int(truncatingIfNeeded: mask) &+ 1 }

  /// Whether one more entry would fill it beyond 13/16, where clusters grow long.
  @inlinable @inline(__always)
  func isFull(_ count: Int) -> Bool { (count &+ 1) &* 16 > capacity &* 13 }

  @inlinable @inline(__always)
  func home(of tag: UInt32) -> Int { Int(truncatingIfNeeded: tag &>> shift) }

  @inlinable @inline(__always)
  func next(_ place: Int) -> Int { (place &+ 1) & Int(truncatingIfNeeded: mask) }

  @inlinable @inline(__always)
  func word(_ place: Int) -> MemoryReference<UInt64> {
    assert(place >= 0 && place < capacity)
    return unsafe MemoryReference(words + place)
  }

  @inlinable @inline(__always)
  func entry(at place: Int) -> MemoryReference<Entry> {
    assert(place >= 0 && place < capacity)
    return unsafe MemoryReference(entries + place)
  }

  @inlinable @inline(__always)
  func slot(at place: Int) -> UInt32 { UInt32(truncatingIfNeeded: self.word(place).pointee) &- 1 }

  @inlinable @inline(__always)
  func prefetch(home: Int) {
    unsafe cplatform_prefetch_to_write(words + home)
    unsafe cplatform_prefetch_to_write(entries + home)
  }

  // MARK: Looking up

  @inlinable @inline(__always)
  func find(_ key: borrowing Key, hash: UInt64) -> Int? where Key: Hashable {
    let tag = UInt64(truncatingIfNeeded: hash & 0xFFFF_FFFF)
    var place = home(of: UInt32(truncatingIfNeeded: tag))
    while true {
      let word = self.word(place).pointee
      if word &>> 32 == tag, word != 0 {
        let entry = entry(at: place)
        Self.prefetchValue(of: entry)
        if Self.isOf(key, entry) { return place }
      } else if word == 0 {
        return nil
      }
      place = next(place)
    }
  }

  @inlinable @inline(__always)
  static func isOf(_ key: borrowing Key, _ entry: MemoryReference<Entry>) -> Bool where Key: Hashable {
    KeyIdentity.same(entry.pointee.key, copy key)
  }

  /// Prefetches the value's object, whose reference count a hit changes, during the key comparison.
  @inlinable @inline(__always)
  static func prefetchValue(of entry: MemoryReference<Entry>) {
    if MemoryLayout<Value>.size == MemoryLayout<UInt>.size, !_isPOD(Value.self) {
      let object = unsafe withUnsafePointer(to: &entry.pointee.value) {
        unsafe UnsafeRawPointer($0).loadUnaligned(as: UInt.self)
      }
      unsafe cplatform_prefetch_to_write(UnsafeRawPointer(bitPattern: object))
    }
  }

  /// The place of `slot`, which must be in the table.
  @inlinable
  func place(of slot: UInt32, tag: UInt32) -> Int {
    let word = UInt64(tag) &<< 32 | UInt64(slot &+ 1)
    var place = home(of: tag)
    while self.word(place).pointee != word { place = next(place) }
    return place
  }

  // MARK: Changing

  /// Adds a word and returns its place, where the entry must be initialized. There must be room.
  @inlinable
  func insert(_ slot: UInt32, tag: UInt32) -> Int {
    var place = home(of: tag)
    while self.word(place).pointee != 0 { place = next(place) }
    self.word(place).pointee = UInt64(tag) &<< 32 | UInt64(slot &+ 1)
    return place
  }

  /// Empties a place whose entry was moved out, and closes the gap.
  @inlinable
  func remove(at place: Int) {
    let mask = Int(truncatingIfNeeded: self.mask)
    var hole = place
    var candidate = place
    while true {
      candidate = next(candidate)
      let word = self.word(candidate).pointee
      if word == 0 { break }
      let home = home(of: UInt32(truncatingIfNeeded: word &>> 32))
      if (candidate &- home) & mask >= (candidate &- hole) & mask {
        self.word(hole).pointee = word
        unsafe entry(at: hole).move(from: entry(at: candidate))
        hole = candidate
      }
    }
    self.word(hole).pointee = 0
  }

  /// Moves everything into a table of another size; the old one is freed after its last reader.
  @inlinable @inline(never)
  mutating func resize(toLog2 log2: UInt32, arena: MemoryArena) {
    let resized = MemoryTable(capacityLog2: log2, arena: arena)
    for place in 0..<capacity {
      let word = self.word(place).pointee
      guard word != 0 else { continue }
      var target = resized.home(of: UInt32(truncatingIfNeeded: word &>> 32))
      while resized.word(target).pointee != 0 { target = resized.next(target) }
      resized.word(target).pointee = word
      unsafe resized.entry(at: target).move(from: entry(at: place))
    }
    unsafe arena.retire(words, bytes: capacity * 8)
    unsafe arena.retire(entries, bytes: capacity * MemoryLayout<Entry>.stride)
    self = resized
  }

  @unsafe func deallocate(arena: MemoryArena) {
    unsafe arena.deallocate(words, bytes: capacity * 8)
    unsafe arena.deallocate(entries, bytes: capacity * MemoryLayout<Entry>.stride)
  }
}
