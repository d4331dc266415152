public import Synchronization

/// The count and cost of all shards, and their queues' shares, in a separate cache line.
@frozen @usableFromInline
struct MemoryTotals: ~Copyable {
  @usableFromInline let count = Atomic<Int>(0)
  /// Unsigned, because it passes the limit for a moment before an eviction.
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
