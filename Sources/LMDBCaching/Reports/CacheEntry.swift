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
