/// A part of the cache under a lock of its own.
@frozen @usableFromInline
struct MemoryShard<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
  /// The thread sanitizer takes a modification of any part for one of the structure's first word. So that is not the
  /// lock, which others take meanwhile.
  @usableFromInline let first = 0
  @usableFromInline let lock: ShortLock
  @usableFromInline var core: MemoryCore<Key, Value>

  @inlinable
  init(mask: Int32, arena: Unmanaged<MemoryArena>) {
    lock = ShortLock()
    core = MemoryCore(mask: mask, arena: arena)
  }

  /// The distance between shards: whole pairs of cache lines, as the prefetcher fetches those.
  @inlinable static var stride: Int { (MemoryLayout<Self>.stride &+ 127) & ~127 }
}
