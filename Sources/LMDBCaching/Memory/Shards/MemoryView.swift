public import CXXHash
public import Synchronization

/// The addresses of a shard's table, for readers without its lock. The lock's holder writes it before unlocking.
///
/// Words may be of different moments: they are used only after the lock's version proves that they belong together, or
/// for prefetching.
@frozen @usableFromInline
struct MemoryView: ~Copyable {
  /// The address of the table's words, a multiple of 64, and the shift to a tag's home.
  @usableFromInline let words = Atomic<UInt>(0)
  @usableFromInline let entries = Atomic<UInt>(0)
  @usableFromInline let slabs = Atomic<UInt>(0)
  /// The mask in the upper half; the generation.
  @usableFromInline let state = Atomic<UInt64>(0)

  @inlinable
  init() {}

  /// Prefetches the home of `hash` and the places just behind it.
  @inlinable @inline(__always)
  borrowing func prefetch(hash: UInt64, stride: Int) {
    let words = words.load(ordering: .relaxed)
    let home = UInt(truncatingIfNeeded: (hash & 0xFFFF_FFFF) &>> UInt64(truncatingIfNeeded: words & 63))
    cxxhash_prefetch(UnsafeRawPointer(bitPattern: (words & ~63) &+ home &* 8))
    let entry = entries.load(ordering: .relaxed) &+ home &* UInt(bitPattern: stride)
    cxxhash_prefetch(UnsafeRawPointer(bitPattern: entry))
    // In a table that is three quarters full every other entry is a place or two behind its home.
    cxxhash_prefetch(UnsafeRawPointer(bitPattern: entry &+ 64))
  }

  @inlinable @inline(__always)
  borrowing func publish<Key, Value>(_ core: borrowing MemoryCore<Key, Value>) {
    let address = UInt(bitPattern: core.table.words) | UInt(truncatingIfNeeded: core.table.shift)
    if words.load(ordering: .relaxed) != address {
      words.store(address, ordering: .relaxed)
      entries.store(UInt(bitPattern: core.table.entries), ordering: .relaxed)
    }
    let slabs = UInt(bitPattern: core.slabs.table)
    if self.slabs.load(ordering: .relaxed) != slabs { self.slabs.store(slabs, ordering: .relaxed) }
    let state = Self.state(mask: core.mask, generation: core.generation)
    if self.state.load(ordering: .relaxed) != state { self.state.store(state, ordering: .relaxed) }
  }

  @inlinable @inline(__always)
  static func state(mask: Int32, generation: UInt8) -> UInt64 {
    UInt64(UInt32(bitPattern: mask)) &<< 32 | UInt64(generation)
  }
}
