public import Synchronization

/// The number and the cost of the entries of all shards, and how they share the room, in a cache line of their own.
@frozen @usableFromInline
struct MemoryTotals: ~Copyable {
  @usableFromInline let count = Atomic<Int>(0)
  /// Unsigned, because it passes the limit for a moment before an eviction makes up for it.
  @usableFromInline let cost = Atomic<UInt64>(0)
  @usableFromInline let share = MemoryShare()

  @inlinable
  init() {}

  @inlinable
  func add(count: Int, cost: Int64) {
    if count != 0 { self.count.wrappingAdd(count, ordering: .relaxed) }
    if cost != 0 { self.cost.wrappingAdd(UInt64(bitPattern: cost), ordering: .relaxed) }
  }
}
