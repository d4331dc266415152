/// The data of a hit: 32 bytes with a `String` key and a one-word value, to save cache space.
@frozen @usableFromInline
struct MemoryEntry<Key, Value> {
  @usableFromInline let key: Key
  @usableFromInline var value: Value
  /// In ticks of the store.
  @usableFromInline var accessed: UInt32
  @usableFromInline var use: MemoryUse
  @usableFromInline var isMain: Bool
  /// A hit reads the details only if this is set.
  @usableFromInline var hasExpiry: Bool
  @usableFromInline var hasCost: Bool

  /// Stores only changes, so that the line of a hot entry stays shared between the processors.
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
