/// A live entry, or a copy of it, for the body of `MemoryStore.access`; valid only in it.
@frozen @usableFromInline
package struct MemoryEntryAccess<Key, Value> {
  @usableFromInline let entry: UnsafeMutablePointer<MemoryEntry<Key, Value>>
  @usableFromInline let stamps: UnsafeMutablePointer<MemoryStamps>?

  @inlinable @inline(__always)
  init(entry: UnsafeMutablePointer<MemoryEntry<Key, Value>>, stamps: UnsafeMutablePointer<MemoryStamps>?) {
    self.entry = entry
    self.stamps = stamps
  }

  @inlinable @inline(__always)
  package var value: Value { entry.pointee.value }

  @inlinable @inline(__always)
  package var stamp: UInt64 { stamps?.pointee.stamp ?? 0 }

  /// The owner's word; 0 in a store without stamps.
  @inlinable @inline(__always)
  package var validated: UInt64 { stamps?.pointee.validated ?? 0 }
}
