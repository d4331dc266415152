/// What a hit reads: 32 bytes with a `String` key and a one-word value, so that the entries of a large cache take
/// little of the processor's caches.
@frozen @usableFromInline
struct MemoryEntry<Key, Value> {
  @usableFromInline let key: Key
  @usableFromInline var value: Value
  /// The last access, in ticks of the store.
  @usableFromInline var accessed: UInt32
  @usableFromInline var use: MemoryUse
  @usableFromInline var isMain: Bool
  /// Whether the details have an expiry; a hit on an entry without one does not read them.
  @usableFromInline var hasExpiry: Bool
  /// Whether the details have a cost that is not zero.
  @usableFromInline var hasCost: Bool

  /// Notes a use. Stores only what changes: the line of a hot entry stays shared between the processors.
  @inlinable @inline(__always)
  mutating func noteUse(in generation: UInt8, at tick: UInt32) {
    if use.generation != generation { use = use.used(in: generation) }
    if accessed != tick { accessed = tick }
  }

  @inlinable @inline(__always)
  init(
    key: Key, value: consuming Value, accessed: UInt32, use: MemoryUse, isMain: Bool, hasExpiry: Bool, hasCost: Bool
  ) {
    self.key = key
    self.value = value
    self.accessed = accessed
    self.use = use
    self.isMain = isMain
    self.hasExpiry = hasExpiry
    self.hasCost = hasCost
  }
}
