/// Two words that an owner of stamps keeps with an entry.
@frozen @usableFromInline
struct MemoryStamps {
  /// The mutation that wrote the value.
  @usableFromInline var stamp: UInt64
  /// A word of the owner's, such as the transaction the value was last known to be current in.
  @usableFromInline var validated: UInt64

  @inlinable
  init(stamp: UInt64, validated: UInt64) {
    self.stamp = stamp
    self.validated = validated
  }
}
