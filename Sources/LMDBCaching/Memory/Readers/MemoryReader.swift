public import Synchronization

/// The lock-free reads of one thread in one store, in a cache line that only that thread writes.
///
/// Numbers pass between threads under a lock, so a line is one sequence of writes.
@frozen @usableFromInline
struct MemoryReader: ~Copyable {
  /// Odd while the thread reads, different each time.
  @usableFromInline let word = Atomic<UInt64>(0)
  @usableFromInline let hits = Atomic<Int>(0)
  @usableFromInline let misses = Atomic<Int>(0)

  @inlinable
  init() {}

  /// The distance between lines, including the scratch memory.
  @inlinable static var stride: Int { 256 }
  @inlinable static var scratchBytes: Int { 128 }

  /// Memory for copies during reads, behind the pair of cache lines that the processor fetches together.
  @inlinable @inline(__always)
  static func scratch(of line: UnsafeMutablePointer<Self>) -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(line) + 128
  }

  /// Announces a read; returns `false` if this thread is reading already.
  @inlinable @inline(__always)
  borrowing func enter() -> Bool {
    let word = word.load(ordering: .relaxed)
    if word & 1 != 0 { return false }
    // No later load may precede the announcement. On x86-64 an exchange ensures that at half the cost of store and
    // fence.
    #if arch(x86_64)
      _ = self.word.exchange(word &+ 1, ordering: .sequentiallyConsistent)
    #else
      self.word.store(word &+ 1, ordering: .relaxed)
      atomicMemoryFence(ordering: .sequentiallyConsistent)
    #endif
    return true
  }

  @inlinable @inline(__always)
  borrowing func leave() {
    let word = word.load(ordering: .relaxed)
    // Without the fence the compiler moves the retain of a value behind the store: see ShortLock.
    atomicMemoryFence(ordering: .releasing)
    self.word.store(word &+ 1, ordering: .releasing)
  }

  @inlinable @inline(__always)
  borrowing func countHit() { hits.store(hits.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  @inlinable @inline(__always)
  borrowing func countMissForHit() {
    hits.store(hits.load(ordering: .relaxed) &- 1, ordering: .relaxed)
    countMiss()
  }

  @inlinable @inline(__always)
  borrowing func countMiss() { misses.store(misses.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
}
