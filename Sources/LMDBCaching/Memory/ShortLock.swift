import Platform
public import Synchronization

/// A lock for critical sections of tens of nanoseconds, half the price of an uncontended `Mutex`.
///
/// Outside Linux it is a `Mutex`, whose priority donation the schedulers rely on. On Linux it is released by a plain
/// store instead of a second locked instruction, so a waiter is not woken but polls: it spins, then yields, then sleeps
/// briefly, which also lets a preempted holder of lower priority run.
@frozen @usableFromInline
package struct ShortLock: ~Copyable, Sendable {
  #if os(Linux)
    @usableFromInline let word = Atomic<UInt32>(0)
  #else
    @usableFromInline let mutex = Mutex<Void>(())
  #endif

  @inlinable
  package init() {}

  @inlinable @inline(__always)
  package borrowing func lock() {
    #if os(Linux)
      let (acquired, _) = word.compareExchange(
        expected: 0, desired: 1, successOrdering: .acquiring, failureOrdering: .relaxed)
      if !acquired { wait() }
    #else
      mutex._unsafeLock()
    #endif
  }

  @inlinable @inline(__always)
  package borrowing func unlock() {
    #if os(Linux)
      // Without the fence the compiler moves the retain of a value read under the lock behind the store, as if no other
      // thread could release the value in between. (LLVM's ARC pass moves retains over stores, but not over fences.) It
      // emits no instruction on x86-64.
      atomicMemoryFence(ordering: .releasing)
      word.store(0, ordering: .releasing)
    #else
      mutex._unsafeUnlock()
    #endif
  }

  /// For slow paths. `body` must be short and call no user code.
  @inlinable @inline(__always)
  package borrowing func withLock<R>(_ body: () -> R) -> R {
    lock()
    defer { unlock() }
    return body()
  }

  #if os(Linux)
    @usableFromInline @inline(never)
    borrowing func wait() {
      var backoff = ShortBackoff()
      while true {
        if word.load(ordering: .relaxed) == 0 {
          let (acquired, _) = word.compareExchange(
            expected: 0, desired: 1, successOrdering: .acquiring, failureOrdering: .relaxed)
          if acquired { return }
        }
        backoff.pause()
      }
    }
  #endif
}

/// The pauses of a poll for something that takes tens of nanoseconds: spins, then yields, then sleeps briefly.
struct ShortBackoff {
  private var round = 0

  @inline(__always)
  mutating func pause() {
    round += 1
    if round < 100 { return }
    if round < 120 {
      sched_yield()
    } else {
      MonotonicClock.sleep(nanoseconds: min(1_000_000, 20_000 * Int64(round - 119)))
    }
  }
}
