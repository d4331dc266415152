/// A removed key and value, to release outside the lock.
@frozen @usableFromInline
struct MemoryPair<Key, Value> {
  /// `nil` if only the value was replaced.
  @usableFromInline var key: Key?
  @usableFromInline var value: Value

  @inlinable @inline(__always)
  init(key: Key?, value: Value) {
    self.key = key
    self.value = value
  }
}
