/// A part of the cache under a lock of its own.
///
/// What a hit reads of it, the lock's version and the view, is in its first cache line; a hit writes nothing of it.
@frozen @usableFromInline
struct MemoryShard<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
  /// The thread sanitizer takes a modification of any part for one of the structure's first word. So that is not the
  /// lock, which others take meanwhile.
  @usableFromInline let first = 0
  @usableFromInline let version = VersionedLock()
  @usableFromInline let view = MemoryView()
  @usableFromInline var core: MemoryCore<Key, Value>

  @inlinable
  init(mask: Int32, arena: Unmanaged<MemoryArena>) {
    core = MemoryCore(mask: mask, arena: arena)
    view.publish(core)
  }

  /// The distance between shards: whole pairs of cache lines, as the prefetcher fetches those.
  @inlinable static var stride: Int { (MemoryLayout<Self>.stride &+ 127) & ~127 }

  @inlinable @inline(__always)
  borrowing func lock() { version.lock() }

  /// Ends a critical section in which the core was changed, and shows it as it is now.
  @inlinable @inline(__always)
  borrowing func unlock() {
    view.publish(core)
    version.unlock()
  }

  /// Ends one in which nothing of it was changed but counters, stamps of groups, and what is noted of uses.
  @inlinable @inline(__always)
  borrowing func unlockUnchanged() { version.unlockUnchanged() }
}
