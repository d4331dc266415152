package import Foundation

/// All of an entry as it is stored: for who writes it elsewhere, or shows it.
// @unchecked: the header refers to no tags, and so to no memory.
package struct EntryRecord: @unchecked Sendable {
  /// What is known of it without its value.
  package let entry: CacheEntry
  /// Without its tags.
  let header: RecordHeader
  /// The value as it is stored: as it was archived, or what the transforms made of that.
  package let stored: Data

  init(entry: CacheEntry, header: RecordHeader, stored: Data) {
    self.entry = entry
    self.header = header
    self.stored = stored
  }

  /// An entry of another cache, as its record said. It gets a stamp when it is stored.
  ///
  /// - Parameters:
  ///   - stored: The value as it was archived, or with `isTransformed` what the transforms of that cache made of it.
  ///   - tagHashes: In any order.
  /// - Throws: `.invalidArgument` for what no cache can have.
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
  /// Bytes of the key and of the value as it is stored.
  package var size: Int { entry.key.utf8.count + stored.count }
  package var format: ArchiveFormat { header.format }

  // Times are nanoseconds since 1970.

  /// 0: never.
  package var expires: Int64 { header.expires }
  /// From when on a read through a loader has it loaded anew; 0: not before it expires.
  package var refresh: Int64 { header.refresh }
  /// Until when it is kept after its expiry, for loads; 0: until its expiry.
  package var kept: Int64 { header.kept }

  /// Which change of a remote tier it is of; 0: of none.
  package var revision: UInt64 { header.revision }
  /// The write that made it. Stamps order the writes of one directory.
  package var stamp: UInt64 { header.stamp }
  /// Seconds since 1970.
  package var created: UInt32 { header.created }
  package var lastAccess: UInt32 { header.lastAccess }
  /// Of its tags. These themselves are not stored.
  package var tagHashes: [UInt64] { entry.tags.map { Array($0.hashes) } ?? [] }
  /// How often it was accessed again after a while, 3 at most.
  package var uses: UInt8 { header.uses }
  /// Whether it says that there is no value, to who would load one.
  package var isAbsence: Bool { header.flags.contains(.absence) }
  /// Whether the value went through transforms, such as compression.
  package var isTransformed: Bool { header.flags.contains(.transformed) }
  /// Whether nobody can read it any more, through a loader neither.
  ///
  /// - Parameter now: Nanoseconds since 1970.
  package func isOver(at now: Int64) -> Bool { header.isOver(at: now) }
  /// Whether the value is in the value log, and not in the record.
  package var isLogged: Bool { header.flags.contains(.pointer) }
}
