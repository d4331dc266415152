import Synchronization

/// The latest removals by tag that this process made: tells most entries with one comparison for each tag that they were
/// not removed. A tag shares its word with those that fall into the same of 4,096 groups, so an entry that this cannot
/// clear need not be removed: the journal and the database know.
///
/// Words are set under the journal's lock, at the moment of the removal, and only grow.
final class TagRemovals: @unchecked Sendable {
  // Unchecked because of the pointer: what it points to is atomic, and lives as long as this.

  /// The words, without a reference to be counted: valid as long as the ``TagRemovals``.
  struct Words {
    fileprivate let base: UnsafeMutablePointer<Atomic<UInt64>>

    fileprivate static let groupBits = 12

    @inline(__always)
    fileprivate func word(_ hash: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
      base + Int(truncatingIfNeeded: hash &>> UInt64(64 - Self.groupBits))
    }

    /// The stamp of the latest removal that may have been of a tag, or 0 if there was none.
    @inline(__always)
    func latest(of hash: UInt64) -> UInt64 { word(hash).pointee.load(ordering: .acquiring) }

    /// The same of one of several.
    func latest(of tags: EntryTags) -> UInt64 { tags.hashes.reduce(0) { max($0, latest(of: $1)) } }
  }

  let words: Words
  /// Whether this process has met an entry with tags.
  private let met = Atomic<Bool>(false)

  init() {
    words = Words(base: .allocate(capacity: 1 << Words.groupBits))
    for group in 0..<(1 << Words.groupBits) { (words.base + group).initialize(to: Atomic(0)) }
  }

  deinit {
    words.base.deinitialize(count: 1 << Words.groupBits)
    words.base.deallocate()
  }

  /// With the journal's lock held.
  func note(_ hash: UInt64, stamp: UInt64) {
    let word = words.word(hash)
    if word.pointee.load(ordering: .relaxed) < stamp { word.pointee.store(stamp, ordering: .releasing) }
  }

  /// Whether any entry that this process has read or written has tags.
  var areUsed: Bool { met.load(ordering: .acquiring) }

  func noteUse() { if !areUsed { met.store(true, ordering: .releasing) } }
}
