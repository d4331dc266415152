public import CXXHash
public import Synchronization

/// Where a shard's table is, for readers that have not locked it yet and only prefetch.
///
/// The words may be of different tables for a moment, or of one that was freed: no harm is done, as nothing is read.
@frozen @usableFromInline
struct MemoryHint: ~Copyable {
  /// The address of the table's words, a multiple of 64, and the shift that leaves a tag's home.
  @usableFromInline let words: Atomic<UInt>
  /// The address of its entries.
  @usableFromInline let entries: Atomic<UInt>

  @inlinable
  init() {
    words = Atomic(0)
    entries = Atomic(0)
  }

  /// Starts loading the word and the entries that are at home for `hash`, and just behind it.
  @inlinable @inline(__always)
  borrowing func prefetch(hash: UInt64, stride: Int) {
    let hint = words.load(ordering: .relaxed)
    let home = UInt(truncatingIfNeeded: (hash & 0xFFFF_FFFF) &>> UInt64(truncatingIfNeeded: hint & 63))
    cxxhash_prefetch(UnsafeRawPointer(bitPattern: (hint & ~63) &+ home &* 8))
    let entry = entries.load(ordering: .relaxed) &+ home &* UInt(bitPattern: stride)
    cxxhash_prefetch(UnsafeRawPointer(bitPattern: entry))
    // In a table that is three quarters full every other entry is a place or two behind its home.
    cxxhash_prefetch(UnsafeRawPointer(bitPattern: entry &+ 64))
  }

  /// Points to `table`, if it does not yet: the hints are read by every thread, and seldom change.
  @inlinable @inline(__always)
  borrowing func publish<Key, Value>(_ table: MemoryTable<Key, Value>) {
    let hint = UInt(bitPattern: table.words) | UInt(truncatingIfNeeded: table.shift)
    if words.load(ordering: .relaxed) != hint {
      words.store(hint, ordering: .relaxed)
      entries.store(UInt(bitPattern: table.entries), ordering: .relaxed)
    }
  }
}
