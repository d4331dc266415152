import Synchronization

/// A Bloom filter of keys with one of 2^18 bits per hash. Any thread; a key inserted during `removeAll` may be lost.
// @unchecked: the pointer never changes, and the words behind it are atomic.
final class KeyFilter: @unchecked Sendable {
  private static let bits = 1 << 18
  private let words: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    words = .allocate(capacity: Self.bits / 64)
    for index in 0..<Self.bits / 64 { (words + index).initialize(to: Atomic(0)) }
  }

  deinit {
    words.deinitialize(count: Self.bits / 64)
    words.deallocate()
  }

  @inline(__always)
  private func place(_ hash: UInt64) -> (word: Int, bit: UInt64) {
    (Int(truncatingIfNeeded: hash >> 6) & (Self.bits / 64 - 1), 1 << (hash & 63))
  }

  @inline(__always)
  func mayContain(_ hash: UInt64) -> Bool {
    let (word, bit) = place(hash)
    return words[word].load(ordering: .relaxed) & bit != 0
  }

  func insert(_ hash: UInt64) {
    let (word, bit) = place(hash)
    words[word].bitwiseOr(bit, ordering: .relaxed)
  }

  func removeAll() {
    for index in 0..<Self.bits / 64 { words[index].store(0, ordering: .relaxed) }
  }
}
