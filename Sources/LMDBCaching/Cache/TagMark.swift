import Synchronization

/// The tags of an entry in the memory tier, and the removals that it is known to have outlived.
final class TagMark: Sendable {
  let tags: EntryTags
  /// Of the write that made the entry.
  let stamp: UInt64
  /// The only tag, or the first one.
  private let first: UInt64
  private let isAlone: Bool
  /// The stamp of the latest removal that did not concern the entry; before any, its own.
  private let outlived: Atomic<UInt64>

  init(_ tags: EntryTags, stamp: UInt64) {
    self.tags = tags
    self.stamp = stamp
    first = tags.hashes[0]
    isAlone = tags.hashes.count == 1
    outlived = Atomic(stamp)
  }

  /// Whether none of the tags was removed by this process since the entry was written, or looked at on the disk.
  @inline(__always)
  func isUntouched(by removals: TagRemovals.Words) -> Bool {
    let latest = isAlone ? removals.latest(of: first) : removals.latest(of: tags)
    return latest <= outlived.load(ordering: .relaxed)
  }

  /// Notes that the entry was still there after the removals up to a stamp.
  func noteOutlived(_ stamp: UInt64) { outlived.max(stamp, ordering: .relaxed) }
}
