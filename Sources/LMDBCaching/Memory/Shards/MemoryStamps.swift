/// The two words of an owner with stamps for an entry.
@frozen @usableFromInline
struct MemoryStamps {
  @usableFromInline var stamp: UInt64
  /// The owner's word, such as the last transaction that the value was valid in.
  @usableFromInline var validated: UInt64

  @inlinable
  init(stamp: UInt64, validated: UInt64) {
    self.stamp = stamp
    self.validated = validated
  }
}
