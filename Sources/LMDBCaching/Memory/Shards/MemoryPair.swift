/// What a removed entry leaves to be released off the lock.
@frozen @usableFromInline
struct MemoryPair<Key, Value> {
  /// Nil where only the value was replaced.
  @usableFromInline var key: Key?
  @usableFromInline var value: Value

  @inlinable @inline(__always)
  init(key: Key?, value: Value) {
    self.key = key
    self.value = value
  }
}
