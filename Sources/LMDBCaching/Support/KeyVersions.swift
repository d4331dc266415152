public import Synchronization

/// Counts the changes of keys, so that whoever keeps a copy of a value knows with one comparison whether it may have
/// changed. A key shares its counter with those that fall into the same of 1,024 groups.
///
/// Under the lock that makes a change visible the counter is advanced; who reads the counter, then the value, then finds
/// the counter unchanged, has the latest value.
@usableFromInline
package final class KeyVersions: @unchecked Sendable {
  // Unchecked because of the pointer: what it points to is atomic, and lives as long as this.

  @inlinable static var groupBits: Int { 10 }
  @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>
  private let closed = Atomic<Bool>(false)

  init() {
    words = .allocate(capacity: 1 << Self.groupBits)
    for group in 0..<(1 << Self.groupBits) { (words + group).initialize(to: Atomic(0)) }
  }

  deinit {
    words.deinitialize(count: 1 << Self.groupBits)
    words.deallocate()
  }

  /// The counter of a key.
  @inlinable @inline(__always)
  func word(hash: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
    words + Int(truncatingIfNeeded: hash &>> UInt64(64 - Self.groupBits))
  }

  @inlinable @inline(__always)
  func advance(hash: UInt64) { word(hash: hash).pointee.wrappingAdd(1, ordering: .releasing) }

  func advanceAll() {
    for group in 0..<(1 << Self.groupBits) { words[group].wrappingAdd(1, ordering: .releasing) }
  }

  /// Whether the cache is closed: nothing may be read through it any more.
  var isClosed: Bool { closed.load(ordering: .acquiring) }

  /// Makes every copy be looked at again, and no new one be kept.
  func close() {
    closed.store(true, ordering: .releasing)
    advanceAll()
  }
}
