/// A shard's detached contents. Owned memory: `drain` frees it.
@frozen @usableFromInline
struct MemoryContents<Key, Value> {
  @usableFromInline let table: MemoryTable<Key, Value>
  @usableFromInline let slabs: MemorySlabs
  @usableFromInline let ghosts: MemoryGhosts
  @usableFromInline let count: Int
  @usableFromInline let cost: Int64

  @inlinable
  init(table: MemoryTable<Key, Value>, slabs: MemorySlabs, ghosts: MemoryGhosts, count: Int, cost: Int64) {
    self.table = table
    self.slabs = slabs
    self.ghosts = ghosts
    self.count = count
    self.cost = cost
  }

  /// Passes every entry to `body`, which must move it out, and frees the memory.
  @inlinable
  consuming func drain(_ body: (UnsafeMutablePointer<MemoryEntry<Key, Value>>) -> Void) {
    for place in 0..<table.capacity where table.words[place] != 0 { body(table.entries + place) }
    deallocate()
  }

  @inlinable
  func deallocate() {
    table.deallocate(arena: slabs.arena)
    slabs.deallocate()
    ghosts.deallocate()
  }
}
