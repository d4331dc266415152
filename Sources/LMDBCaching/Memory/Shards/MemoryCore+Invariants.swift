import Synchronization

extension MemoryCore {
  /// Checks the invariants between operations. Requires the shard's lock.
  func _checkInvariants(seed: UInt64, keepsStamps: Bool) {
    if isClosed { return precondition(count == 0 && cost == 0, "a closed shard holds entries") }
    var found = 0
    for place in 0..<table.capacity where table.words[place] != 0 {
      found += 1
      let (entry, slot) = (table.entries + place, table.slot(at: place))
      precondition(slabs.holds(slot), "an entry's details are gone")
      let details = slabs.details(slot).pointee
      precondition(details.hash == KeyIdentity.hash(entry.pointee.key, seed: seed), "the hash is of another key")
      precondition(table.words[place] &>> 32 == details.hash & 0xFFFF_FFFF, "the tag is of another hash")
      precondition(find(entry.pointee.key, hash: details.hash) == place, "a key's entry is not found")
      precondition(entry.pointee.hasExpiry == (details.expires != .max), "an entry is wrong about its expiry")
      precondition(entry.pointee.hasCost == (details.cost != 0), "an entry is wrong about its cost")
      precondition(details.cost >= 0, "a cost is negative")
    }
    precondition(found == count, "the table holds \(found) entries, the queues \(count)")
    precondition(found * 16 <= table.capacity * 13, "the table is too full")
    precondition(generation < MemoryUse.generations, "there is no such generation")
    check(small, isMain: false)
    check(main, isMain: true)
    precondition(stripes != nil || !keepsStamps, "the stamps are gone")
  }

  private func check(_ queue: MemoryQueue, isMain: Bool) {
    var (slot, previous, count, cost) = (queue.head, MemoryDetails.none, 0, Int64(0))
    while slot != MemoryDetails.none, count <= queue.count {
      let details = slabs.details(slot).pointee
      precondition(details.previous == previous, "a queue's links disagree")
      precondition(entry(of: slot).pointee.isMain == isMain, "an entry is in the other queue")
      (slot, previous, count, cost) = (details.next, slot, count + 1, cost + details.cost)
    }
    precondition(slot == MemoryDetails.none && queue.tail == previous, "a queue ends elsewhere than at its tail")
    precondition(count == queue.count && cost == queue.cost, "a queue's count or cost is not that of its entries")
  }
}

extension MemoryView {
  /// Checks that the view matches the core.
  func _checkInvariants<Key, Value>(of core: borrowing MemoryCore<Key, Value>) {
    let words = words.load(ordering: .relaxed)
    precondition(words & ~63 == UInt(bitPattern: core.table.words), "the view is of another table")
    precondition(words & 63 == UInt(core.table.shift), "the view is of a table of another size")
    precondition(entries.load(ordering: .relaxed) == UInt(bitPattern: core.table.entries), "and of other entries")
    precondition(slabs.load(ordering: .relaxed) == UInt(bitPattern: core.slabs.table), "and of other slots")
    let state = Self.state(mask: core.mask, generation: core.generation)
    precondition(self.state.load(ordering: .relaxed) == state, "and of another generation or number of shards")
  }
}
