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

  package var key: String { entry.key }
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
  /// Whether it says that there is no value, to who would load one.
  package var isAbsence: Bool { header.flags.contains(.absence) }
  /// Whether the value went through transforms, such as compression.
  package var isTransformed: Bool { header.flags.contains(.transformed) }
  /// Whether the value is in the value log, and not in the record.
  package var isLogged: Bool { header.flags.contains(.pointer) }
}
