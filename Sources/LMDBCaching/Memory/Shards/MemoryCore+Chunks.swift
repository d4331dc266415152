extension MemoryCore {
  /// Moves the last chunk of slots into the others if the rest has twice the needed room; otherwise returns `false`.
  /// Called after many removals to free memory.
  @inlinable
  mutating func compact() -> Bool {
    guard slabs.chunks > 1, Int(slabs.chunks) &* Int(MemorySlabs.slotsPerSlab) > count &* 2 else {
      return false
    }
    var last = slabs.tableCount - 1
    while slabs.table[Int(last)].base == nil { last -= 1 }
    // Out of the list of chunks with room, so that the entries do not move within it.
    let slab = slabs.table + Int(last)
    if slab.pointee.live < MemorySlabs.slotsPerSlab { slabs.unlinkPartial(last) }
    let first = UInt32(bitPattern: last) << MemorySlabs.slotsLog2
    for slot in first..<(first + slab.pointee.fresh) where slabs.isLive(slot) { relocate(slot) }
    relocations &+= 1
    // A scan may have missed what moved.
    nextExpiry = 0
    slabs.table[Int(last)].live = 0
    slabs.linkPartial(last)
    slabs.removeSlab(last)
    return true
  }

  @inlinable
  mutating func relocate(_ old: UInt32) {
    let place = place(of: old)
    let new = slabs.allocate()
    let links = slabs.details(old).pointee
    slabs.details(new).initialize(to: links)
    if stripes != nil { slabs.stamps(new).initialize(to: slabs.stamps(old).pointee) }
    table.words[place] = table.words[place] & ~0xFFFF_FFFF | UInt64(new + 1)
    let isMain = table.entries[place].isMain
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
  @inlinable
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
