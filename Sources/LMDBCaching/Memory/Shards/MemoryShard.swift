/// A part of the cache under a separate lock. Its first cache line holds the data that a hit reads (the lock's version
/// and the view); a hit writes nothing here.
@frozen @usableFromInline
struct MemoryShard<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
  /// The thread sanitizer attributes any modification to the first word, so that must not be the lock, which other
  /// threads use.
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

  /// Publishes the changed core and unlocks.
  @inlinable @inline(__always)
  borrowing func unlock() {
    view.publish(core)
    version.unlock()
  }

  /// Unlocks if only counters, group stamps and uses have changed.
  @inlinable @inline(__always)
  borrowing func unlockUnchanged() { version.unlockUnchanged() }
}
