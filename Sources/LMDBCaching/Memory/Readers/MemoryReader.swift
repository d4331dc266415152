public import Synchronization

/// What one thread does in one store without a lock, in a cache line of its own: only that thread writes it.
///
/// A number has one thread at a time, and passes from one to the next under a lock: so a line is one sequence of writes.
@frozen @usableFromInline
struct MemoryReader: ~Copyable {
  /// Odd while the thread reads, another number each time.
  @usableFromInline let word = Atomic<UInt64>(0)
  @usableFromInline let hits = Atomic<Int>(0)
  @usableFromInline let misses = Atomic<Int>(0)

  @inlinable
  init() {}

  /// The distance between lines: that to the scratch, and as much for it.
  @inlinable static var stride: Int { 256 }
  @inlinable static var scratchBytes: Int { 128 }

  /// Memory for what the thread copies while it reads, behind the pair of cache lines that the processor fetches at once.
  @inlinable @inline(__always)
  static func scratch(of line: UnsafeMutablePointer<Self>) -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(line) + 128
  }

  /// Announces that the thread reads; false, with nothing announced, if it does already.
  @inlinable @inline(__always)
  borrowing func enter() -> Bool {
    let word = word.load(ordering: .relaxed)
    if word & 1 != 0 { return false }
    // No load that follows comes before others can see it. An exchange is all of that on x86-64, and costs half of what
    // a store and a fence do.
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

  /// Makes the hit that was counted last a miss.
  @inlinable @inline(__always)
  borrowing func countMissForHit() {
    hits.store(hits.load(ordering: .relaxed) &- 1, ordering: .relaxed)
    countMiss()
  }

  @inlinable @inline(__always)
  borrowing func countMiss() { misses.store(misses.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
}
