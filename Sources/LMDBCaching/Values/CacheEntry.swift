public import Foundation

/// The properties of an entry without its value.
public struct CacheEntry: Sendable, Equatable {
  /// The key, byte for byte as it was written.
  public let key: String
  /// When the entry expires; `nil` for never.
  public let expiration: Date?
  /// The cost given with the value, or its size in bytes.
  public let cost: Int
  /// The bytes of the stored value, after archiving and transforms.
  public let size: Int
  /// How the value is archived.
  public let format: ArchiveFormat
  /// When the value was written, to the second.
  public let created: Date
  /// When the value was last read, to about a minute.
  public let lastAccess: Date
  /// Identifies the entry's write.
  public let version: EntryVersion
  let tags: EntryTags?
  /// Exact nanoseconds since 1970; 0 for never.
  let expires: Int64

  /// Returns whether it was stored with this tag. Tags are stored as hashes, so they cannot be listed.
  public func isTagged(_ tag: String) -> Bool { tags?.hashes.contains(EntryTags.hash(tag)) ?? false }
}

/// Identifies the write of an entry, across processes and restarts, from ``LMDBCache/entry(forKey:)`` for
/// ``LMDBCache/set(_:forKey:expires:cost:tags:if:)``.
///
/// Unconditional sets of a key by two processes within 256 ns may get the same version with a probability of 1 in 256.
/// Conditional writes never do.
public struct EntryVersion: Sendable, Hashable {
  let stamp: UInt64
}

/// The state of a cache's disk tier.
public enum CacheHealth: Sendable, Equatable {
  /// Writes are being committed.
  case healthy
  /// Commits fail, or the journal's file cannot take writes; the error says why. Writes are served and kept in the
  /// journal, or in a few megabytes of memory, until they are committed, which is retried with growing pauses. Those in
  /// memory do not survive the process.
  case memoryOnly(CacheError)
  /// The cache is closed.
  case closed

  /// Whether writes are being committed.
  public var isHealthy: Bool {
    if case .healthy = self { true } else { false }
  }
}

/// The damage of a cache's file that opening found, and the file's new place; the cache was recreated.
///
/// Entries of the damaged file are gone. Acknowledged writes that were still in a journal are kept.
public struct CacheRecovery: Sendable, CustomStringConvertible {
  /// A description of the damage.
  public let finding: String
  /// The damaged page of the file, if known.
  package let page: UInt64?
  /// The folder with the damaged file and its values, in the cache's directory. Only the last recovery's is kept, and
  /// nothing in it is needed.
  public let quarantine: URL
  /// When this happened, by the cache's clock.
  public let date: Date

  public var description: String { "\(finding); the damaged files are in \(quarantine.path)" }
}

/// When the database's file is checked before it is mapped; see <doc:DamagedFiles>.
///
/// The check covers the structure, because LMDB trusts its file and a damaged structure would end the process. Values
/// have checksums, which every read compares.
public enum CacheVerification: Sendable, Equatable, CaseIterable {
  /// After the operating system stopped while the cache was open, after a device failed, and after another program
  /// changed, replaced or restored the file. Otherwise opening reads a few hundred bytes, also after the death of a
  /// process, which damages nothing.
  ///
  /// Not detected: changes by a failing medium after a clean exit, and, until the operating system restarts, writes of
  /// another program over the file of a process that was killed while writing.
  case afterUncleanExit
  /// Whenever a process opens the cache while no other has it open. Reads all pages except those of large values: about
  /// a second for a cached gigabyte.
  case always
}
