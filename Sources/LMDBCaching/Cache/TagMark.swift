import Synchronization

/// The tags of an entry in memory, and the removals that it has survived.
final class TagMark: Sendable {
  let tags: EntryTags
  let stamp: UInt64
  /// The first tag.
  private let first: UInt64
  private let isAlone: Bool
  /// The stamp of the last removal known not to affect the entry; initially its own.
  private let outlived: Atomic<UInt64>

  init(_ tags: EntryTags, stamp: UInt64) {
    self.tags = tags
    self.stamp = stamp
    first = tags.hashes[0]
    isAlone = tags.hashes.count == 1
    outlived = Atomic(stamp)
  }

  /// Whether this process has removed none of the tags since the entry was written or checked on the disk.
  @inline(__always)
  func isUntouched(by removals: TagRemovals.Words) -> Bool {
    let latest = isAlone ? removals.latest(of: first) : removals.latest(of: tags)
    return latest <= outlived.load(ordering: .relaxed)
  }

  /// Records that the entry survived the removals up to a stamp.
  func noteOutlived(_ stamp: UInt64) { outlived.max(stamp, ordering: .relaxed) }
}
