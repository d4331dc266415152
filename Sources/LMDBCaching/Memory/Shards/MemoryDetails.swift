/// What eviction and replacement read of an entry, kept apart from what a hit reads.
@frozen @usableFromInline
struct MemoryDetails {
  /// The neighbour towards the head (younger); `none` at the head, `free` in a slot without an entry.
  @usableFromInline var previous: UInt32
  /// The neighbour towards the tail (older); the next free slot in a slot without an entry.
  @usableFromInline var next: UInt32
  @usableFromInline var cost: Int64
  @usableFromInline var hash: UInt64
  /// Wall-clock nanoseconds since 1970 from which the entry is dead; `Int64.max`: never.
  @usableFromInline var expires: Int64

  /// Where ``expires`` is.
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
