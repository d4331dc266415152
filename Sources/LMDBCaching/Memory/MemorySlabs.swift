import Platform
public import Synchronization

/// Slots for entries' details in chunks of 256: growing moves none, and numbers stay valid while their entries live.
/// Owned memory: `deallocate()` frees it.
@safe @frozen @usableFromInline
struct MemorySlabs {
  @usableFromInline var table: UnsafeMutablePointer<MemorySlab>
  @usableFromInline var tableCount: Int32 = 0
  @usableFromInline var tableCapacity: Int32 = 4
  /// The first chunk with room, and the first vacant place for a chunk; -1 without one.
  @usableFromInline var partial: Int32 = -1
  @usableFromInline var vacant: Int32 = -1
  @usableFromInline var chunks: Int32 = 0
  /// Unmanaged: counting references would be the most expensive part of a hit. The store, and the release of detached
  /// slabs, keep the arena.
  @usableFromInline let owner: Unmanaged<MemoryArena>

  @inlinable static var slotsLog2: UInt32 { 8 }
  @inlinable static var slotsPerSlab: UInt32 { 1 << slotsLog2 }
  /// A chunk is its slots' details, then their stamps, if any.
  @inlinable static var stampsOffset: Int {
    MemoryLayout<MemoryDetails>.stride &* Int(truncatingIfNeeded: slotsPerSlab)
  }

  static func slabBytes(keepsStamps: Bool) -> Int {
    stampsOffset &+ (keepsStamps ? MemoryLayout<MemoryStamps>.stride &* Int(slotsPerSlab) : 0)
  }

  @inlinable
  init(arena: MemoryArena) {
    unsafe table = .allocate(capacity: 4)
    unsafe owner = unsafe .passUnretained(arena)
  }

  @inlinable
  var arena: MemoryArena { unsafe owner.takeUnretainedValue() }

  @inlinable @inline(__always)
  func slab(_ number: Int32) -> MemoryReference<MemorySlab> {
    assert(number >= 0 && number < tableCount)
    return unsafe MemoryReference(table + Int(truncatingIfNeeded: number))
  }

  @inlinable @inline(__always)
  func chunk(of slot: UInt32) -> UnsafeMutableRawPointer {
    unsafe slab(Int32(truncatingIfNeeded: slot &>> Self.slotsLog2)).pointee.base.unsafelyUnwrapped
  }

  /// The details of a slot that was handed out.
  @inlinable @inline(__always)
  func details(_ slot: UInt32) -> MemoryReference<MemoryDetails> {
    let first = unsafe chunk(of: slot).assumingMemoryBound(to: MemoryDetails.self)
    return unsafe MemoryReference(first + Int(truncatingIfNeeded: slot & (Self.slotsPerSlab &- 1)))
  }

  /// Only in a store with stamps.
  @inlinable @inline(__always)
  func stamps(_ slot: UInt32) -> MemoryReference<MemoryStamps> {
    let first = unsafe (chunk(of: slot) + Self.stampsOffset).assumingMemoryBound(to: MemoryStamps.self)
    return unsafe MemoryReference(first + Int(truncatingIfNeeded: slot & (Self.slotsPerSlab &- 1)))
  }

  /// Whether a used slot holds an entry.
  @inlinable
  func isLive(_ slot: UInt32) -> Bool { details(slot).pointee.previous != MemoryDetails.free }

  /// Returns a slot with uninitialized details.
  @inlinable
  mutating func allocate() -> UInt32 {
    if partial < 0 { addSlab() }
    let number = partial
    let slab = slab(number)
    slab.pointee.live &+= 1
    let offset: UInt32
    if slab.pointee.freeHead != MemoryDetails.none {
      offset = slab.pointee.freeHead
      let slot = UInt32(bitPattern: number) &<< Self.slotsLog2 | offset
      slab.pointee.freeHead = details(slot).pointee.next
    } else {
      offset = slab.pointee.fresh
      slab.pointee.fresh &+= 1
    }
    if slab.pointee.live == Self.slotsPerSlab { unlinkPartial(number) }
    return UInt32(bitPattern: number) &<< Self.slotsLog2 | offset
  }

  @inlinable
  mutating func free(_ slot: UInt32) {
    let number = Int32(truncatingIfNeeded: slot &>> Self.slotsLog2)
    let slab = slab(number)
    if slab.pointee.live == Self.slotsPerSlab { linkPartial(number) }
    slab.pointee.live &-= 1
    details(slot).pointee.previous = MemoryDetails.free
    details(slot).pointee.next = slab.pointee.freeHead
    slab.pointee.freeHead = slot & (Self.slotsPerSlab &- 1)
    // One chunk with room is kept, so that a full cache does not free and allocate one in turn.
    if slab.pointee.live == 0, slab.pointee.previous >= 0 || slab.pointee.next >= 0 { removeSlab(number) }
  }

  @inlinable
  mutating func linkPartial(_ number: Int32) {
    slab(number).pointee.previous = -1
    slab(number).pointee.next = partial
    if partial >= 0 { slab(partial).pointee.previous = number }
    partial = number
  }

  @inlinable
  mutating func unlinkPartial(_ number: Int32) {
    let (previous, next) = (slab(number).pointee.previous, slab(number).pointee.next)
    if previous >= 0 { slab(previous).pointee.next = next } else { partial = next }
    if next >= 0 { slab(next).pointee.previous = previous }
    slab(number).pointee.previous = -1
    slab(number).pointee.next = -1
  }

  @usableFromInline @inline(never)
  mutating func addSlab() {
    var number = vacant
    if number >= 0 {
      vacant = slab(number).pointee.next
    } else {
      if tableCount == tableCapacity {
        let grown = UnsafeMutablePointer<MemorySlab>.allocate(capacity: Int(tableCapacity) * 2)
        unsafe grown.moveInitialize(from: table, count: Int(tableCount))
        unsafe arena.retire(.slabs(table))
        unsafe table = unsafe grown
        tableCapacity *= 2
      }
      number = tableCount
      tableCount += 1
    }
    unsafe slab(number).initialize(to: MemorySlab(base: arena.allocateChunk()))
    chunks += 1
    linkPartial(number)
  }

  @usableFromInline @inline(never)
  mutating func removeSlab(_ number: Int32) {
    unlinkPartial(number)
    unsafe arena.retire(.chunk(slab(number).pointee.base!))
    slab(number).pointee = unsafe MemorySlab(base: nil)
    slab(number).pointee.next = vacant
    vacant = number
    chunks -= 1
  }

  @unsafe func deallocate() {
    for number in 0..<tableCount {
      if let base = unsafe slab(number).pointee.base { unsafe arena.deallocateChunk(base) }
    }
    unsafe table.deallocate()
  }
}

extension MemorySlabs {
  /// The used slots of a chunk; empty for a freed chunk.
  @inlinable
  func slots(ofChunk chunk: Int32) -> Range<UInt32> {
    let first = UInt32(bitPattern: chunk) << Self.slotsLog2
    let slab = slab(chunk)
    return first..<(slab.pointee.isFreed ? first : first + slab.pointee.fresh)
  }

  /// Whether the slot, perhaps in a freed chunk, holds an entry.
  func holds(_ slot: UInt32) -> Bool {
    !slab(Int32(truncatingIfNeeded: slot >> Self.slotsLog2)).pointee.isFreed && isLive(slot)
  }
}

/// The bookkeeping of one chunk of slots.
@safe @frozen @usableFromInline
struct MemorySlab {
  /// `nil` in a place whose chunk was freed.
  @usableFromInline var base: UnsafeMutableRawPointer?
  /// The first slot never handed out.
  @usableFromInline var fresh: UInt32 = 0
  /// The first returned slot, relative to the chunk, or `MemoryDetails.none`.
  @usableFromInline var freeHead: UInt32 = MemoryDetails.none
  @usableFromInline var live: UInt32 = 0
  /// Neighbors in the list of chunks with room, or of vacant places (`next` only), or -1.
  @usableFromInline var previous: Int32 = -1
  @usableFromInline var next: Int32 = -1

  init(base: UnsafeMutableRawPointer?) { unsafe self.base = unsafe base }

  @inlinable
  var isFreed: Bool { unsafe base == nil }
}

/// The data of a hit: 32 bytes with a `String` key and a one-word value, to save cache space.
@frozen @usableFromInline
struct MemoryEntry<Key, Value> {
  @usableFromInline let key: Key
  @usableFromInline var value: Value
  /// In ticks of the store.
  @usableFromInline var accessed: UInt32
  @usableFromInline var use: MemoryUse
  @usableFromInline var isMain: Bool
  /// A hit reads the details only if this is set.
  @usableFromInline var hasExpiry: Bool
  @usableFromInline var hasCost: Bool

  /// Stores only changes, so that the line of a hot entry stays shared between the processors.
  @inlinable @inline(__always)
  mutating func noteUse(in generation: UInt8, at tick: UInt32) {
    if use.generation != generation { use = use.used(in: generation) }
    if accessed != tick { accessed = tick }
  }

  @inlinable @inline(__always)
  init(
    key: Key, value: consuming Value, accessed: UInt32, use: MemoryUse, isMain: Bool, hasExpiry: Bool, hasCost: Bool
  ) {
    self.key = key
    self.value = value
    self.accessed = accessed
    self.use = use
    self.isMain = isMain
    self.hasExpiry = hasExpiry
    self.hasCost = hasCost
  }
}

/// The data for eviction and replacement, apart from the data for hits.
@frozen @usableFromInline
struct MemoryDetails {
  /// The neighbor towards the head (younger); `none` at the head, `free` in a slot without an entry.
  @usableFromInline var previous: UInt32
  /// The neighbor towards the tail (older); the next free slot in a slot without an entry.
  @usableFromInline var next: UInt32
  @usableFromInline var cost: Int64
  @usableFromInline var hash: UInt64
  /// Wall-clock nanoseconds since 1970; `Int64.max` for never.
  @usableFromInline var expires: Int64

  @inlinable static var expiresOffset: Int { 24 }

  @inlinable static var none: UInt32 { 0xFFFF_FFFF }
  @inlinable static var free: UInt32 { 0xFFFF_FFFE }

  @inlinable
  init(hash: UInt64, cost: Int64, expires: Int64) {
    previous = Self.none
    next = Self.none
    self.cost = cost
    self.hash = hash
    self.expires = expires
  }
}

/// A removed key and value, to release outside the lock.
@frozen @usableFromInline
struct MemoryPair<Key, Value> {
  /// `nil` if only the value was replaced.
  @usableFromInline var key: Key?
  @usableFromInline var value: Value

  @inlinable @inline(__always)
  init(key: Key?, value: Value) {
    self.key = key
    self.value = value
  }
}

/// The two words of an owner with stamps for an entry.
@frozen @usableFromInline
struct MemoryStamps {
  @usableFromInline var stamp: UInt64
  /// The owner's word, such as the last transaction that the value was valid in.
  @usableFromInline var validated: UInt64

  @inlinable
  init(stamp: UInt64, validated: UInt64) {
    self.stamp = stamp
    self.validated = validated
  }
}

/// Memory for a store's tables and for its chunks of slots.
///
/// Small allocations use the system allocator, so that a small cache is small: arrays below 128 KiB, and the first
/// megabyte of chunks. The rest is cut from regions of 2 MiB that the kernel may back by huge pages; otherwise nearly
/// every hit in a large cache would miss the TLB. Unused regions are freed, except the last one of chunks. Arrays above
/// 512 KiB use the system allocator: the kernel may take 10 ms to find huge pages for one, during which its shard is
/// locked.
@usableFromInline
final class MemoryArena: @unchecked Sendable {
  // Unchecked: everything mutable is used under the lock.

  private static let smallBytes = 1 << 20
  private static let smallTableBytes = 128 << 10

  private let lock = ShortLock()
  private let chunkBytes: Int
  private var small = 0
  private var regions: [UInt: MemoryRegion] = [:]
  /// The regions with room for each size; the last is used next.
  private var open: [Int: [UInt]] = [:]
  private var retired: [Retired] = []
  /// Whether `reclaim` has work.
  @usableFromInline let hasRetired = Atomic<Bool>(false)

  /// Unlinked memory that may still be read.
  @safe enum Retired {
    case chunk(UnsafeMutableRawPointer)
    case array(UnsafeMutableRawPointer, bytes: Int)
    case slabs(UnsafeMutablePointer<MemorySlab>)
  }

  init(chunkBytes: Int) {
    // Whole cache lines, so that details that divide a line never straddle two.
    self.chunkBytes = (chunkBytes + 63) & ~63
  }

  deinit {
    free(retired)
    for region in regions.values { unsafe region.base.deallocate() }
  }

  // MARK: Chunks of slots

  func allocateChunk() -> UnsafeMutableRawPointer {
    unsafe lock.withLock {
      if small >= Self.smallBytes { return unsafe cut(chunkBytes) }
      small += chunkBytes
      return .allocate(byteCount: chunkBytes, alignment: 64)
    }
  }

  func deallocateChunk(_ chunk: UnsafeMutableRawPointer) {
    lock.withLock {
      if unsafe giveBack(chunk, keepingOne: true) { return }
      small -= chunkBytes
      unsafe chunk.deallocate()
    }
  }

  // MARK: Tables

  /// Aligned to cache lines.
  @usableFromInline
  func allocate(bytes: Int) -> UnsafeMutableRawPointer {
    if bytes < Self.smallTableBytes { return .allocate(byteCount: bytes, alignment: 64) }
    let rounded = (bytes + 63) & ~63
    if rounded <= MemoryRegion.bytes / 4 { return unsafe lock.withLock { unsafe cut(rounded) } }
    return .allocate(byteCount: bytes, alignment: 64)
  }

  func deallocate(_ memory: UnsafeMutableRawPointer, bytes: Int) {
    if bytes >= Self.smallTableBytes, lock.withLock({ unsafe giveBack(memory, keepingOne: false) }) { return }
    unsafe memory.deallocate()
  }

  // MARK: Deferred release

  @usableFromInline
  func retire(_ memory: UnsafeMutableRawPointer, bytes: Int) { unsafe retire(.array(memory, bytes: bytes)) }

  func retire(_ memory: Retired) {
    lock.withLock { retired.append(memory) }
    hasRetired.store(true, ordering: .relaxed)
  }

  /// Frees retired memory after waiting for its readers. No shard may be locked.
  @usableFromInline @inline(never)
  func reclaim(_ readers: MemoryReaders) {
    hasRetired.store(false, ordering: .relaxed)
    let memory = lock.withLock {
      let memory = retired
      retired = []
      return memory
    }
    readers.wait()
    free(memory)
  }

  private func free(_ memory: [Retired]) {
    for part in memory {
      switch part {
      case .chunk(let chunk): unsafe deallocateChunk(chunk)
      case .array(let memory, let bytes): unsafe deallocate(memory, bytes: bytes)
      case .slabs(let slabs): unsafe slabs.deallocate()
      }
    }
  }

  // MARK: Under the lock

  private func cut(_ bytes: Int) -> UnsafeMutableRawPointer {
    if open[bytes, default: []].isEmpty {
      let base = UnsafeMutableRawPointer.allocate(byteCount: MemoryRegion.bytes, alignment: MemoryRegion.bytes)
      #if os(Linux)
        unsafe madvise(base, MemoryRegion.bytes, MADV_HUGEPAGE)
      #endif
      regions[UInt(bitPattern: base)] = unsafe MemoryRegion(chunkBytes: bytes, base: base)
      open[bytes, default: []].append(UInt(bitPattern: base))
    }
    let key = open[bytes]!.last!
    let chunk = unsafe regions[key]!.allocate()
    if regions[key]!.isFull { open[bytes]!.removeLast() }
    return unsafe chunk
  }

  /// Returns `false` if it belongs to no region.
  private func giveBack(_ chunk: UnsafeMutableRawPointer, keepingOne: Bool) -> Bool {
    let key = UInt(bitPattern: chunk) & ~UInt(MemoryRegion.bytes - 1)
    guard let bytes = regions[key]?.chunkBytes else { return false }
    if regions[key]!.isFull { open[bytes]!.append(key) }
    unsafe regions[key]!.deallocate(chunk)
    if regions[key]!.live == 0, !keepingOne || open[bytes]!.count > 1 {
      unsafe regions.removeValue(forKey: key)!.base.deallocate()
      open[bytes]!.remove(at: open[bytes]!.firstIndex(of: key)!)
    }
    return true
  }
}

/// Memory of 2 MiB, cut into chunks of one size.
@safe struct MemoryRegion {
  static let bytes = 2 << 20

  let base: UnsafeMutableRawPointer
  let chunkBytes: Int
  /// Chunks handed out at least once.
  private var fresh = 0
  private(set) var live = 0
  private var free: [UnsafeMutableRawPointer] = unsafe []

  init(chunkBytes: Int, base: UnsafeMutableRawPointer) {
    self.chunkBytes = chunkBytes
    unsafe self.base = unsafe base
  }

  var isFull: Bool { live == Self.bytes / chunkBytes }

  /// The region must have room.
  mutating func allocate() -> UnsafeMutableRawPointer {
    live += 1
    if let recycled = unsafe free.popLast() { return unsafe recycled }
    fresh += 1
    return unsafe base + (fresh - 1) * chunkBytes
  }

  mutating func deallocate(_ chunk: UnsafeMutableRawPointer) {
    live -= 1
    unsafe free.append(chunk)
  }
}
