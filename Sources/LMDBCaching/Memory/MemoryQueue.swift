/// A first-in first-out list of slots: entries enter at the head and leave at the tail.
@frozen @usableFromInline
struct MemoryQueue {
  @usableFromInline var head: UInt32 = MemoryDetails.none
  @usableFromInline var tail: UInt32 = MemoryDetails.none
  @usableFromInline var count = 0
  @usableFromInline var cost: Int64 = 0

  @inlinable
  init() {}
}
