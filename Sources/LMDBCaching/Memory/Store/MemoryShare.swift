public import Synchronization

/// The small queues' target share of all shards, which adapts to misses: see
/// ``MemoryCore/evict(byCost:share:keeping:clock:cost:)``.
@frozen @usableFromInline
struct MemoryShare: ~Copyable {
  /// In units of 2^-32.
  @usableFromInline let units: Atomic<Int>

  @inlinable static var unit: Int { 1 << 32 }
  @inlinable static var start: Int { unit / 10 }
  @inlinable static var least: Int { unit / 100 }
  @inlinable static var most: Int { unit }

  @inlinable
  init() { units = Atomic(Self.start) }

  @inlinable @inline(__always)
  var value: Double { Double(units.load(ordering: .relaxed)) / Double(Self.unit) }

  /// Moves room for four entries to the small or the main queues, whichever evicted an entry too early. Concurrent
  /// calls may count once. `count` is the number of entries in all shards.
  @inlinable
  borrowing func adapt(to recollection: MemoryGhosts.Recollection, count: Int) {
    let step = Self.unit &* 4 / max(1, count)
    switch recollection {
    case .none, .early: return
    case .lateInSmall: units.store(min(Self.most, units.load(ordering: .relaxed) &+ step), ordering: .relaxed)
    case .lateInMain: units.store(max(Self.least, units.load(ordering: .relaxed) &- step), ordering: .relaxed)
    }
  }
}
