public import CPlatform
import Platform
import Synchronization

/// The threads that read a store without its locks: those that have removed something wait here until nobody can be
/// reading it any more, then release it.
///
/// A thread announces itself in its ``MemoryReader``, then reads; whoever removes something does so, then looks at every
/// reader. Between the two steps of each is a sequentially consistent fence. So either the reader finds that it is gone, or
/// it is seen, and waited for. A reader stays for tens of nanoseconds, waits for nothing and calls nothing of the user's
/// but `==` of keys: waiting for one is like waiting for a ``ShortLock``. (That is the quiescence of RCU, and of Fraser's
/// epochs, without an epoch: a reader's word is different each time.)
///
/// Threads have numbers while they live (`cplatform_take_thread_number`). One that gets none, as there are more threads than
/// numbers, reads under the locks.
@usableFromInline
// Unchecked because of the pointer: what it points to is atomic, or its one thread's, and lives as long as this.
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

  /// The line of this thread, which is announced, or `nil` if it has none or reads already.
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

  /// Returns when every read has ended that may have found what was removed before.
  ///
  /// Not to be called by a thread that reads.
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

  /// What was found, and not found, by those who read here.
  var counts: (hits: Int, misses: Int) {
    var sums = (hits: 0, misses: 0)
    for number in 0..<min(count, cplatform_thread_numbers_given()) {
      sums.hits += line(number).pointee.hits.load(ordering: .relaxed)
      sums.misses += line(number).pointee.misses.load(ordering: .relaxed)
    }
    return sums
  }
}
