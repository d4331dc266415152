/// What a hit reads: 32 bytes with a `String` key and a one-word value, so that the entries of a large cache take
/// little of the processor's caches.
@frozen @usableFromInline
struct MemoryEntry<Key, Value> {
  @usableFromInline let key: Key
  @usableFromInline var value: Value
  /// The last access, in ticks of the store.
  @usableFromInline var accessed: UInt32
  /// Hits since the entry entered its queue, at most 3.
  @usableFromInline var frequency: UInt8
  @usableFromInline var isMain: Bool
  /// Whether the details have an expiry; a hit on an entry without one does not read them.
  @usableFromInline var hasExpiry: Bool
  /// Whether the details have a cost that is not zero.
  @usableFromInline var hasCost: Bool

  @inlinable @inline(__always)
  init(key: Key, value: consuming Value, accessed: UInt32, isMain: Bool, hasExpiry: Bool, hasCost: Bool) {
    self.key = key
    self.value = value
    self.accessed = accessed
    self.frequency = 0
    self.isMain = isMain
    self.hasExpiry = hasExpiry
    self.hasCost = hasCost
  }
}
