package import Foundation

/// An entry as stored, for export or display.
// @unchecked: the header refers to no tags, and so to no memory.
package struct EntryRecord: @unchecked Sendable {
  package let entry: CacheEntry
  /// Without its tags.
  let header: RecordHeader
  /// The archived value, transformed if `isTransformed` is set.
  package let stored: Data

  init(entry: CacheEntry, header: RecordHeader, stored: Data) {
    self.entry = entry
    self.header = header
    self.stored = stored
  }

  /// An entry of another cache. It gets a stamp when it is stored.
  ///
  /// - Parameter stored: The archived value, transformed if `isTransformed` is set.
  /// - Throws: `.invalidArgument` for values that no cache can have.
  package init(
    key: String, format: ArchiveFormat, stored: Data, created: UInt32, lastAccess: UInt32, cost: Int,
    expires: Int64 = 0, refresh: Int64 = 0, kept: Int64 = 0, revision: UInt64 = 0, tagHashes: [UInt64] = [],
    uses: UInt8 = 0, isAbsence: Bool = false, isTransformed: Bool = false
  ) throws(CacheError) {
    try DiskStore.checkLengths(key, key.utf8.count, stored.count)
    guard cost >= 0 else { throw CacheError(.invalidArgument, "A cost is not negative; \(cost) is.") }
    guard uses <= RecordHeader.maximumUses else {
      throw CacheError(.invalidArgument, "Uses are counted to \(RecordHeader.maximumUses), and \(uses) are given.")
    }
    let tags = try EntryTags.make(hashes: tagHashes)
    var header = RecordHeader(format: format, expires: expires, now: created, cost: cost)
    header.lastAccess = lastAccess
    (header.refresh, header.kept, header.revision, header.uses) = (refresh, kept, revision, uses)
    if isAbsence { header.flags.insert(.absence) }
    if isTransformed { header.flags.insert(.transformed) }
    header.tags = tags?.hashes
    entry = withExtendedLifetime(tags) { CacheEntry(key, header, size: stored.count) }
    self.header = header.detached
    self.stored = stored
  }

  package var key: String { entry.key }
  package var size: Int { entry.key.utf8.count + stored.count }
  package var format: ArchiveFormat { header.format }

  // Times are nanoseconds since 1970.

  /// 0: never.
  package var expires: Int64 { header.expires }
  /// When a read through a loader reloads it before its expiry; 0: never.
  package var refresh: Int64 { header.refresh }
  /// Until when loads keep it after its expiry; 0: not kept.
  package var kept: Int64 { header.kept }

  /// The remote tier's revision; 0: none.
  package var revision: UInt64 { header.revision }
  /// Identifies the write. Stamps order the writes of one directory.
  package var stamp: UInt64 { header.stamp }
  /// Seconds since 1970, like ``lastAccess``.
  package var created: UInt32 { header.created }
  package var lastAccess: UInt32 { header.lastAccess }
  /// Tags themselves are not stored.
  package var tagHashes: [UInt64] { entry.tags.map { Array($0.hashes) } ?? [] }
  /// The number of repeated uses, at most 3.
  package var uses: UInt8 { header.uses }
  /// Whether it records, for loads, that no value exists.
  package var isAbsence: Bool { header.flags.contains(.absence) }
  /// Whether the value went through transforms, such as compression.
  package var isTransformed: Bool { header.flags.contains(.transformed) }
  /// Whether it has expired even for loads at `now`, in nanoseconds since 1970.
  package func isOver(at now: Int64) -> Bool { header.isOver(at: now) }
  /// Whether the value is in the value log.
  package var isLogged: Bool { header.flags.contains(.pointer) }
}
