public import CPlatform
import Platform
import Synchronization

/// The threads that read a store without its locks. Removers wait here for earlier reads, then release the memory.
///
/// A thread announces itself in its ``MemoryReader``, then reads; a remover unlinks, then looks at every reader. A
/// sequentially consistent fence is between the two steps of each, so the reader misses the removed memory, or is seen
/// and waited for. A read takes tens of nanoseconds, waits for nothing and calls no user code except `==` of keys:
/// waiting for one is like waiting for a ``ShortLock``. (As the quiescence of RCU, and of Fraser's epochs, but a
/// reader's word is different each time instead of an epoch.)
///
/// Threads have numbers while they live (`cplatform_take_thread_number`). Threads beyond the last number read under the
/// locks.
@usableFromInline
// Unchecked: the memory behind the pointer is atomic or belongs to one thread, and lives as long as this.
final class MemoryReaders: @unchecked Sendable {
  @usableFromInline let lines: UnsafeMutableRawPointer
  @usableFromInline let count: UInt32

  init() {
    count = cplatform_thread_numbers()
    lines = .allocate(byteCount: Int(count) * MemoryReader.stride, alignment: 128)
    for number in 0..<count { line(number).initialize(to: MemoryReader()) }
  }

  deinit { lines.deallocate() }

  @inlinable @inline(__always)
  func line(_ number: UInt32) -> UnsafeMutablePointer<MemoryReader> {
    (lines + Int(truncatingIfNeeded: number) &* MemoryReader.stride).assumingMemoryBound(to: MemoryReader.self)
  }

  // MARK: Reading

  /// This thread's line after an announcement, or `nil` if it has none or is reading already.
  @inlinable @inline(__always)
  func enter() -> UnsafeMutablePointer<MemoryReader>? {
    var number = cplatform_thread_number()
    if number >= count {
      number = cplatform_take_thread_number()
      if number >= count { return nil }
    }
    let line = line(number)
    return line.pointee.enter() ? line : nil
  }

  // MARK: Waiting

  /// Returns when all reads that may have found earlier removals have ended. A reading thread must not call it.
  @usableFromInline @inline(never)
  func wait() {
    cplatform_fence()
    for number in 0..<min(count, cplatform_thread_numbers_given()) {
      let line = line(number)
      let word = line.pointee.word.load(ordering: .acquiring)
      if word & 1 != 0 { wait(for: number, toLeave: word) }
    }
  }

  private func wait(for number: UInt32, toLeave word: UInt64) {
    let line = line(number)
    var round = 0
    while line.pointee.word.load(ordering: .acquiring) == word {
      round += 1
      if round < 200 {
        continue
      } else if round < 220 {
        sched_yield()
      } else {
        var pause = timespec(tv_sec: 0, tv_nsec: min(1_000_000, 20_000 * (round - 219)))
        nanosleep(&pause, nil)
      }
    }
  }

  // MARK: Counts

  var counts: (hits: Int, misses: Int) {
    var sums = (hits: 0, misses: 0)
    for number in 0..<min(count, cplatform_thread_numbers_given()) {
      sums.hits += line(number).pointee.hits.load(ordering: .relaxed)
      sums.misses += line(number).pointee.misses.load(ordering: .relaxed)
    }
    return sums
  }
}
