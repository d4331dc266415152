/// What only eviction reads of an entry, kept apart from the line a hit reads.
@frozen @usableFromInline
struct MemoryLinks {
  /// The neighbour towards the head (younger); `none` at the head, `free` in a slot without an entry.
  @usableFromInline var previous: UInt32
  /// The neighbour towards the tail (older); the next free slot in a slot without an entry.
  @usableFromInline var next: UInt32
  @usableFromInline var cost: Int64

  @inlinable static var none: UInt32 { 0xFFFF_FFFF }
  @inlinable static var free: UInt32 { 0xFFFF_FFFE }

  @inlinable
  init(previous: UInt32, next: UInt32, cost: Int64) {
    self.previous = previous
    self.next = next
    self.cost = cost
  }
}
