/// A first-in first-out list of slots: entries enter at the head and leave at the tail.
@frozen @usableFromInline
struct MemoryQueue {
  @usableFromInline var head: UInt32 = MemoryDetails.none
  @usableFromInline var tail: UInt32 = MemoryDetails.none
  @usableFromInline var count = 0
  @usableFromInline var cost: Int64 = 0
  /// The address and tag of the details when they reached the tail, only for prefetching.
  @usableFromInline var tailDetails: UnsafeRawPointer?
  @usableFromInline var tailTag: UInt32 = 0

  @inlinable
  init() {}

  /// Pushes a slot with initialized details.
  @inlinable @inline(__always)
  mutating func push(_ slot: UInt32, in slabs: MemorySlabs) {
    let details = slabs.details(slot)
    details.pointee.previous = MemoryDetails.none
    details.pointee.next = head
    if head == MemoryDetails.none {
      tail = slot
      noteTail(details)
    } else {
      slabs.details(head).pointee.previous = slot
    }
    head = slot
    count &+= 1
    cost &+= details.pointee.cost
  }

  /// Removes a slot at any position.
  @inlinable @inline(__always)
  mutating func unlink(_ slot: UInt32, in slabs: MemorySlabs) {
    let details = slabs.details(slot)
    let (previous, next) = (details.pointee.previous, details.pointee.next)
    if previous == MemoryDetails.none { head = next } else { slabs.details(previous).pointee.next = next }
    if next == MemoryDetails.none {
      tail = previous
      if previous != MemoryDetails.none { noteTail(slabs.details(previous)) }
    } else {
      slabs.details(next).pointee.previous = previous
    }
    count &-= 1
    cost &-= details.pointee.cost
  }

  @inlinable @inline(__always)
  mutating func noteTail(_ details: UnsafeMutablePointer<MemoryDetails>) {
    tailDetails = UnsafeRawPointer(details)
    tailTag = UInt32(truncatingIfNeeded: details.pointee.hash)
  }
}
