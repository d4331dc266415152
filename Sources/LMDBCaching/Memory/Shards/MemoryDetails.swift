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
