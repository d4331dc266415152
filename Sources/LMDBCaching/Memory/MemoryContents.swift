/// A shard's contents after they were taken out of it. Owned memory: `drain` ends it.
@frozen @usableFromInline
struct MemoryContents<Key, Value> {
  @usableFromInline let index: MemoryIndex
  @usableFromInline let slabs: MemorySlabs<Key, Value>
  @usableFromInline let ghost: MemoryGhost
  @usableFromInline let count: Int
  @usableFromInline let cost: Int64

  @inlinable
  init(index: MemoryIndex, slabs: MemorySlabs<Key, Value>, ghost: MemoryGhost, count: Int, cost: Int64) {
    self.index = index
    self.slabs = slabs
    self.ghost = ghost
    self.count = count
    self.cost = cost
  }

  /// Hands every entry to `body`, which must move it out, and frees the memory.
  @inlinable
  consuming func drain(_ body: (UnsafeMutablePointer<MemoryEntry<Key, Value>>) -> Void) {
    for number in 0..<slabs.tableCount where slabs.table[Int(number)].base != nil {
      let first = UInt32(bitPattern: number) << MemorySlabs<Key, Value>.slotsLog2
      for slot in first..<(first + slabs.table[Int(number)].fresh) where slabs.isLive(slot) {
        body(slabs.entry(slot))
      }
    }
    deallocate()
  }

  @inlinable
  func deallocate() {
    index.deallocate()
    slabs.deallocate()
    ghost.deallocate()
  }
}
