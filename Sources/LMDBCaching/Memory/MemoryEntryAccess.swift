/// A live entry, as the body of `MemoryStore.access` sees it; valid only while that runs.
@frozen @usableFromInline
package struct MemoryEntryAccess<Key, Value> {
  @usableFromInline let entry: UnsafeMutablePointer<MemoryEntry<Key, Value>>
  @usableFromInline let details: UnsafeMutablePointer<MemoryDetails>
  @usableFromInline let stamps: UnsafeMutablePointer<MemoryStamps>?

  @inlinable @inline(__always)
  init(
    entry: UnsafeMutablePointer<MemoryEntry<Key, Value>>, details: UnsafeMutablePointer<MemoryDetails>,
    stamps: UnsafeMutablePointer<MemoryStamps>?
  ) {
    self.entry = entry
    self.details = details
    self.stamps = stamps
  }

  @inlinable @inline(__always)
  package var value: Value { entry.pointee.value }

  /// The mutation that wrote the value; 0 in a store without stamps.
  @inlinable @inline(__always)
  package var stamp: UInt64 { stamps?.pointee.stamp ?? 0 }

  /// The owner's word; 0 and not kept in a store without stamps.
  @inlinable @inline(__always)
  package var validated: UInt64 {
    get { stamps?.pointee.validated ?? 0 }
    nonmutating set { stamps?.pointee.validated = newValue }
  }

  /// Wall-clock nanoseconds since 1970 from which the entry is dead; `Int64.max`: never.
  @inlinable @inline(__always)
  package var expires: Int64 { entry.pointee.hasExpiry ? details.pointee.expires : .max }
}
