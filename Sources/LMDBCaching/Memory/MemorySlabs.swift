/// Slots for entries, in chunks of 256, so that growing moves nothing and a slot's number stays valid while it lives.
///
/// Owned memory: `deallocate()` ends it, once no slot holds an entry.
@frozen @usableFromInline
struct MemorySlabs<Key, Value> {
  @usableFromInline typealias Entry = MemoryEntry<Key, Value>

  @usableFromInline var table: UnsafeMutablePointer<MemorySlab>
  @usableFromInline var tableCount: Int32 = 0
  @usableFromInline var tableCapacity: Int32 = 4
  /// The first chunk with room, and the first place of the table without a chunk; -1: none.
  @usableFromInline var partial: Int32 = -1
  @usableFromInline var vacant: Int32 = -1
  @usableFromInline var chunks: Int32 = 0

  @inlinable static var slotsLog2: UInt32 { 8 }
  @inlinable static var slotsPerSlab: UInt32 { 1 << slotsLog2 }
  @inlinable static var linksOffset: Int { MemoryLayout<Entry>.stride &* Int(slotsPerSlab) }
  @inlinable static var slabBytes: Int { linksOffset &+ MemoryLayout<MemoryLinks>.stride &* Int(slotsPerSlab) }
  @inlinable static var slabAlignment: Int { max(64, MemoryLayout<Entry>.alignment) }

  @inlinable
  init() {
    table = .allocate(capacity: 4)
  }

  @inlinable @inline(__always)
  func entry(_ slot: UInt32) -> UnsafeMutablePointer<Entry> {
    let base = table[Int(truncatingIfNeeded: slot &>> Self.slotsLog2)].base.unsafelyUnwrapped
    return base.assumingMemoryBound(to: Entry.self) + Int(truncatingIfNeeded: slot & (Self.slotsPerSlab &- 1))
  }

  @inlinable @inline(__always)
  func links(_ slot: UInt32) -> UnsafeMutablePointer<MemoryLinks> {
    let base = table[Int(truncatingIfNeeded: slot &>> Self.slotsLog2)].base.unsafelyUnwrapped + Self.linksOffset
    return base.assumingMemoryBound(to: MemoryLinks.self) + Int(truncatingIfNeeded: slot & (Self.slotsPerSlab &- 1))
  }

  /// Whether the slot, one handed out before, holds an entry.
  @inlinable
  func isLive(_ slot: UInt32) -> Bool { links(slot).pointee.previous != MemoryLinks.free }

  /// A slot whose entry and links are to be initialised.
  @inlinable
  mutating func allocate() -> UInt32 {
    if partial < 0 { addSlab() }
    let number = partial
    let slab = table + Int(number)
    slab.pointee.live &+= 1
    let offset: UInt32
    if slab.pointee.freeHead != MemoryLinks.none {
      offset = slab.pointee.freeHead
      let slot = UInt32(bitPattern: number) &<< Self.slotsLog2 | offset
      slab.pointee.freeHead = links(slot).pointee.next
    } else {
      offset = slab.pointee.fresh
      slab.pointee.fresh &+= 1
    }
    if slab.pointee.live == Self.slotsPerSlab { unlinkPartial(number) }
    return UInt32(bitPattern: number) &<< Self.slotsLog2 | offset
  }

  /// Takes back a slot whose entry has been moved out or destroyed.
  @inlinable
  mutating func free(_ slot: UInt32) {
    let number = Int32(truncatingIfNeeded: slot &>> Self.slotsLog2)
    let slab = table + Int(number)
    if slab.pointee.live == Self.slotsPerSlab { linkPartial(number) }
    slab.pointee.live &-= 1
    links(slot).pointee = MemoryLinks(previous: MemoryLinks.free, next: slab.pointee.freeHead, cost: 0)
    slab.pointee.freeHead = slot & (Self.slotsPerSlab &- 1)
    // One chunk with room is kept, so that a full cache does not free and allocate one by turns.
    if slab.pointee.live == 0, slab.pointee.previous >= 0 || slab.pointee.next >= 0 { removeSlab(number) }
  }

  @inlinable
  mutating func linkPartial(_ number: Int32) {
    table[Int(number)].previous = -1
    table[Int(number)].next = partial
    if partial >= 0 { table[Int(partial)].previous = number }
    partial = number
  }

  @inlinable
  mutating func unlinkPartial(_ number: Int32) {
    let (previous, next) = (table[Int(number)].previous, table[Int(number)].next)
    if previous >= 0 { table[Int(previous)].next = next } else { partial = next }
    if next >= 0 { table[Int(next)].previous = previous }
    table[Int(number)].previous = -1
    table[Int(number)].next = -1
  }

  @inlinable @inline(never)
  mutating func addSlab() {
    var number = vacant
    if number >= 0 {
      vacant = table[Int(number)].next
    } else {
      if tableCount == tableCapacity {
        let grown = UnsafeMutablePointer<MemorySlab>.allocate(capacity: Int(tableCapacity) * 2)
        grown.moveInitialize(from: table, count: Int(tableCount))
        table.deallocate()
        table = grown
        tableCapacity *= 2
      }
      number = tableCount
      tableCount += 1
    }
    let base = UnsafeMutableRawPointer.allocate(byteCount: Self.slabBytes, alignment: Self.slabAlignment)
    (table + Int(number)).initialize(to: MemorySlab(base: base))
    chunks += 1
    linkPartial(number)
  }

  @inlinable @inline(never)
  mutating func removeSlab(_ number: Int32) {
    unlinkPartial(number)
    table[Int(number)].base!.deallocate()
    table[Int(number)] = MemorySlab(base: nil)
    table[Int(number)].next = vacant
    vacant = number
    chunks -= 1
  }

  @inlinable
  func deallocate() {
    for number in 0..<Int(tableCount) { table[number].base?.deallocate() }
    table.deallocate()
  }
}

extension MemorySlabs {
  /// The slots of a chunk that were ever handed out; none for a chunk that was freed.
  @inlinable
  func slots(ofChunk chunk: Int32) -> Range<UInt32> {
    let first = UInt32(bitPattern: chunk) << Self.slotsLog2
    let slab = table[Int(chunk)]
    return first..<(slab.base == nil ? first : first + slab.fresh)
  }

  /// Whether the slot holds an entry, its chunk having been freed or not.
  @inlinable
  func holds(_ slot: UInt32) -> Bool {
    table[Int(slot >> Self.slotsLog2)].base != nil && isLive(slot)
  }
}
