import Synchronization

/// This process's latest removals by tag, which clear most entries with one comparison per tag. Tags share a word with
/// others of the same of 4,096 groups; for an entry that is not cleared, ask the journal and the database.
///
/// Words are set under the journal's lock, at the moment of the removal, and only grow.
final class TagRemovals: @unchecked Sendable {
  // Unchecked because of the pointer, whose target is atomic and lives as long as this object.

  /// The words without reference counting, valid for the lifetime of the ``TagRemovals``.
  struct Words {
    fileprivate let base: UnsafeMutablePointer<Atomic<UInt64>>

    fileprivate static let groupBits = 12

    @inline(__always)
    fileprivate func word(_ hash: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
      base + Int(truncatingIfNeeded: hash &>> UInt64(64 - Self.groupBits))
    }

    /// The stamp of the latest possible removal by the tag, or 0.
    @inline(__always)
    func latest(of hash: UInt64) -> UInt64 { word(hash).pointee.load(ordering: .acquiring) }

    func latest(of tags: EntryTags) -> UInt64 { tags.hashes.reduce(0) { max($0, latest(of: $1)) } }
  }

  let words: Words
  private let met = Atomic<Bool>(false)

  init() {
    words = Words(base: .allocate(capacity: 1 << Words.groupBits))
    for group in 0..<(1 << Words.groupBits) { (words.base + group).initialize(to: Atomic(0)) }
  }

  deinit {
    words.base.deinitialize(count: 1 << Words.groupBits)
    words.base.deallocate()
  }

  /// Requires the journal's lock.
  func note(_ hash: UInt64, stamp: UInt64) {
    let word = words.word(hash)
    if word.pointee.load(ordering: .relaxed) < stamp { word.pointee.store(stamp, ordering: .releasing) }
  }

  var areUsed: Bool { met.load(ordering: .acquiring) }

  func noteUse() { if !areUsed { met.store(true, ordering: .releasing) } }
}
