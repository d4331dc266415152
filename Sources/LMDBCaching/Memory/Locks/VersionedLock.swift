import Platform
public import Synchronization

/// A ``ShortLock`` that tells those who read without it whether what they read is consistent: a sequence lock.
///
/// Its word is even while nobody holds it, odd while somebody does, and another one after each change: it has 64 bits, and
/// never comes back to a value that a reader remembers. A reader takes the ``version``, reads, and believes what it read if
/// the version ``isCurrent(_:)`` still.
///
/// Why the order is right: whoever locks stores the odd word before a release fence, then writes; whoever reads loads what
/// was written, then, behind an acquire fence, the word. If it saw any of the writes, it sees at least the odd word. On
/// x86-64 these fences are no instructions, on arm64 they are `dmb`s. (Boehm, "Can seqlocks get along with programming
/// language memory models?", MSPC 2012.)
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

  /// Ends a critical section that changed what readers read.
  @inlinable @inline(__always)
  package borrowing func unlock() { unlock(advancing: 1) }

  /// Ends one that changed nothing, or only what readers may find in any state: they need not read again.
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

  /// What to compare with later, or `nil` if somebody holds the lock all the time.
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

  /// Looks for as long as a critical section usually takes.
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
      var round = 0
      while true {
        let word = word.load(ordering: .relaxed)
        if word & 1 == 0, tryLock(word) { return }
        round += 1
        if round < 100 {
          continue
        } else if round < 120 {
          sched_yield()
        } else {
          var pause = timespec(tv_sec: 0, tv_nsec: min(1_000_000, 20_000 * (round - 119)))
          nanosleep(&pause, nil)
        }
      }
    }
  #endif
}
