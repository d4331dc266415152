public import Synchronization

/// The part of the room that the small queues should take, of all shards together. It follows what is missed: see
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

  /// Makes room for four entries more in the small queues, or in the main queues, where one was evicted too early. Of two
  /// threads that do so at once one may count.
  ///
  /// - Parameter count: How many entries all shards hold.
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
