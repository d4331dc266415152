/// Collects what is removed under a lock, to be released after it. The first pair needs no allocation.
@frozen @usableFromInline
struct MemoryReleases<Key, Value>: ~Copyable {
  @usableFromInline var first: MemoryPair<Key, Value>?
  @usableFromInline var rest: [MemoryPair<Key, Value>]

  @inlinable @inline(__always)
  init() {
    first = nil
    rest = []
  }

  @inlinable @inline(__always)
  mutating func append(_ pair: consuming MemoryPair<Key, Value>) {
    if first == nil {
      first = pair
    } else {
      rest.append(pair)
    }
  }
}
