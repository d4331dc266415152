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

/// A sequence lock: a ``ShortLock`` that lets readers without it detect inconsistent reads.
///
/// Its 64-bit word is odd while locked, and has a new even value after each change, never one that a reader remembers.
/// A reader takes the ``version``, reads, and trusts the data if the version ``isCurrent(_:)`` still.
///
/// Why the order is right: the writer stores the odd word before a release fence, then writes; the reader loads the
/// data, then, behind an acquire fence, the word. If it saw any of the writes, it sees at least the odd word. On x86-64
/// these fences emit no instructions, on arm64 `dmb`s. (Boehm, "Can seqlocks get along with programming language memory
/// models?", MSPC 2012.)
@frozen @usableFromInline
package struct VersionedLock: ~Copyable, Sendable {
  @usableFromInline let word = Atomic<UInt64>(0)
  #if !os(Linux)
    // As in ShortLock, for the donation of priorities.
    @usableFromInline let mutex = Mutex<Void>(())
  #endif

  @inlinable
  package init() {}

  // MARK: Holding it

  @inlinable @inline(__always)
  package borrowing func lock() {
    #if os(Linux)
      let word = word.load(ordering: .relaxed)
      if word & 1 != 0 || !tryLock(word) { wait() }
    #else
      mutex._unsafeLock()
      word.store(word.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    #endif
    atomicMemoryFence(ordering: .releasing)
  }

  /// Ends a critical section that changed data for readers.
  @inlinable @inline(__always)
  package borrowing func unlock() { unlock(advancing: 1) }

  /// Ends one that readers need not notice.
  @inlinable @inline(__always)
  package borrowing func unlockUnchanged() { unlock(advancing: ~0) }

  @inlinable @inline(__always)
  borrowing func unlock(advancing step: UInt64) {
    let word = self.word.load(ordering: .relaxed) &+ step
    // Without the fence the compiler moves the retain of a value read under the lock behind the store: see ShortLock.
    atomicMemoryFence(ordering: .releasing)
    self.word.store(word, ordering: .releasing)
    #if !os(Linux)
      mutex._unsafeUnlock()
    #endif
  }

  // MARK: Reading without it

  /// The version for ``isCurrent(_:)``, or `nil` if the lock stays held.
  @inlinable @inline(__always)
  package borrowing func version() -> UInt64? {
    let word = word.load(ordering: .acquiring)
    if word & 1 == 0 { return word }
    return settledVersion()
  }

  /// Whether nothing has changed since the version was taken.
  @inlinable @inline(__always)
  package borrowing func isCurrent(_ version: UInt64) -> Bool {
    atomicMemoryFence(ordering: .acquiring)
    return word.load(ordering: .relaxed) == version
  }

  /// Polls for as long as a critical section usually takes.
  @usableFromInline @inline(never)
  borrowing func settledVersion() -> UInt64? {
    for _ in 0..<200 {
      let word = word.load(ordering: .acquiring)
      if word & 1 == 0 { return word }
    }
    return nil
  }

  #if os(Linux)
    @inlinable @inline(__always)
    borrowing func tryLock(_ even: UInt64) -> Bool {
      word.compareExchange(
        expected: even, desired: even &+ 1, successOrdering: .acquiring, failureOrdering: .relaxed
      ).exchanged
    }

    @usableFromInline @inline(never)
    borrowing func wait() {
      var backoff = ShortBackoff()
      while true {
        let word = word.load(ordering: .relaxed)
        if word & 1 == 0, tryLock(word) { return }
        backoff.pause()
      }
    }
  #endif
}
