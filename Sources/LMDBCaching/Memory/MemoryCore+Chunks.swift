extension MemoryCore {
  /// Empties the last chunk of slots into the others when those have twice the room it needs; false: nothing to do.
  ///
  /// Called after many removals, so that what is left does not hold on to the memory of what went.
  @inlinable
  mutating func compact() -> Bool {
    guard slabs.chunks > 1, Int(slabs.chunks) &* Int(MemorySlabs<Key, Value>.slotsPerSlab) > count &* 2 else {
      return false
    }
    var last = slabs.tableCount - 1
    while slabs.table[Int(last)].base == nil { last -= 1 }
    // Out of the list of chunks with room, so that the entries do not move within it.
    let slab = slabs.table + Int(last)
    if slab.pointee.live < MemorySlabs<Key, Value>.slotsPerSlab { slabs.unlinkPartial(last) }
    let first = UInt32(bitPattern: last) << MemorySlabs<Key, Value>.slotsLog2
    for slot in first..<(first + slab.pointee.fresh) where slabs.isLive(slot) { relocate(slot) }
    relocations &+= 1
    // Its slots are all moved out.
    slabs.table[Int(last)].live = 0
    slabs.linkPartial(last)
    slabs.removeSlab(last)
    return true
  }

  @inlinable
  mutating func relocate(_ old: UInt32) {
    let tag = UInt32(truncatingIfNeeded: slabs.details(old).pointee.hash)
    let place = index.place(of: old, tag: tag)
    let new = slabs.allocate()
    slabs.entry(new).moveInitialize(from: slabs.entry(old), count: 1)
    let links = slabs.details(old).pointee
    slabs.details(new).initialize(to: links)
    if stripes != nil { slabs.stamps(new).initialize(to: slabs.stamps(old).pointee) }
    index.words[place] = UInt64(tag) << 32 | UInt64(new + 1)
    let isMain = slabs.entry(new).pointee.isMain
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

  /// Makes the index as small as its entries allow, when it is far too large.
  @inlinable
  mutating func shrinkIndex() {
    var log2 = 32 - index.shift
    while log2 > MemoryIndex.smallestLog2, (1 << Int(log2 - 1)) > count * 3 { log2 -= 1 }
    if log2 < 32 - index.shift { index.resize(toLog2: log2) }
  }

  /// The contents, leaving the core empty: constant time, so that a large shard is emptied in a short lock hold.
  @inlinable
  mutating func detach() -> MemoryContents<Key, Value> {
    let contents = MemoryContents(index: index, slabs: slabs, ghost: ghost, count: count, cost: cost)
    index = MemoryIndex(capacityLog2: MemoryIndex.smallestLog2)
    slabs = MemorySlabs(arena: slabs.arena)
    small = MemoryQueue()
    main = MemoryQueue()
    ghost = MemoryGhost()
    relocations &+= 1
    return contents
  }
}
