public import Synchronization

/// Counts the changes of keys, so that one comparison detects whether a copy of a value may be stale. Keys share 1,024
/// counters.
///
/// The counter advances under the lock that makes a change visible: a reader that finds it unchanged after reading the
/// value has the latest one.
@usableFromInline
package final class KeyVersions: @unchecked Sendable {
  // Unchecked: the pointer leads to atomics and lives as long as this.

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

  @inlinable @inline(__always)
  func word(hash: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
    words + Int(truncatingIfNeeded: hash &>> UInt64(64 - Self.groupBits))
  }

  @inlinable @inline(__always)
  func advance(hash: UInt64) { word(hash: hash).pointee.wrappingAdd(1, ordering: .releasing) }

  func advanceAll() {
    for group in 0..<(1 << Self.groupBits) { words[group].wrappingAdd(1, ordering: .releasing) }
  }

  var isClosed: Bool { closed.load(ordering: .acquiring) }

  /// Invalidates every copy, for good.
  func close() {
    closed.store(true, ordering: .releasing)
    advanceAll()
  }
}
