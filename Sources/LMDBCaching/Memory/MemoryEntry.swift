/// What a hit reads: with a `String` key and a one-word value it is one 64-byte cache line.
@frozen @usableFromInline
package struct MemoryEntry<Key, Value> {
  @usableFromInline package let key: Key
  @usableFromInline package var value: Value
  /// The mutation that wrote the value; 0 where the owner keeps no stamps.
  @usableFromInline package var stamp: UInt64
  /// A word of the owner's, such as the transaction the value was last known to be current in.
  @usableFromInline package var validated: UInt64
  /// Wall-clock nanoseconds since 1970 from which the entry is dead; `Int64.max`: never.
  @usableFromInline package var expires: Int64
  /// The last access, in ticks of the store.
  @usableFromInline var accessed: UInt32
  /// Hits since the entry entered its queue, at most 3.
  @usableFromInline var frequency: UInt8
  @usableFromInline var isMain: Bool
  @usableFromInline let hash: UInt64

  @inlinable @inline(__always)
  init(
    key: Key, value: Value, stamp: UInt64, validated: UInt64, expires: Int64, accessed: UInt32, isMain: Bool,
    hash: UInt64
  ) {
    self.key = key
    self.value = value
    self.stamp = stamp
    self.validated = validated
    self.expires = expires
    self.accessed = accessed
    self.frequency = 0
    self.isMain = isMain
    self.hash = hash
  }
}
