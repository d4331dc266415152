/// Collects pairs removed under a lock, for release after it. The first needs no allocation.
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
