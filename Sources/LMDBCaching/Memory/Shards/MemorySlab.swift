/// The bookkeeping of one chunk of slots.
@frozen @usableFromInline
struct MemorySlab {
  /// The slots' memory; nil in a place of the table whose chunk was freed.
  @usableFromInline var base: UnsafeMutableRawPointer?
  /// Slots handed out at least once are those below this.
  @usableFromInline var fresh: UInt32 = 0
  /// The first slot given back, relative to the chunk; `MemoryDetails.none`: none.
  @usableFromInline var freeHead: UInt32 = MemoryDetails.none
  @usableFromInline var live: UInt32 = 0
  /// Neighbours in the list of chunks with room, or of vacant places (`next` only); -1: none.
  @usableFromInline var previous: Int32 = -1
  @usableFromInline var next: Int32 = -1

  @inlinable
  init(base: UnsafeMutableRawPointer?) { self.base = base }
}
