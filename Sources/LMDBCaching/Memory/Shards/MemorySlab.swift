/// The bookkeeping of one chunk of slots.
@frozen @usableFromInline
struct MemorySlab {
  /// `nil` in a place whose chunk was freed.
  @usableFromInline var base: UnsafeMutableRawPointer?
  /// The first slot never handed out.
  @usableFromInline var fresh: UInt32 = 0
  /// The first returned slot, relative to the chunk, or `MemoryDetails.none`.
  @usableFromInline var freeHead: UInt32 = MemoryDetails.none
  @usableFromInline var live: UInt32 = 0
  /// Neighbors in the list of chunks with room, or of vacant places (`next` only), or -1.
  @usableFromInline var previous: Int32 = -1
  @usableFromInline var next: Int32 = -1

  @inlinable
  init(base: UnsafeMutableRawPointer?) { self.base = base }
}
