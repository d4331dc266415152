public import Foundation

/// What is known of an entry without reading its value.
public struct CacheEntry: Sendable, Equatable {
  /// The key, byte for byte as it was written.
  public let key: String
  /// When the entry expires; `nil`: never.
  public let expiration: Date?
  /// The cost given with the value, or its size in bytes.
  public let cost: Int
  /// The length of the archived value in bytes, as it is stored: after the value transforms.
  public let size: Int
  /// How the value is archived.
  public let format: ArchiveFormat
  /// When the value was written, to the second.
  public let created: Date
  /// When the value was last read, as far as that has been recorded: to the minute or so.
  public let lastAccess: Date
  /// Which write made it.
  public let version: EntryVersion
  let tags: EntryTags?
  /// Exactly, in nanoseconds since 1970; 0: never.
  let expires: Int64

  /// Whether it was stored with this tag. Tags are stored as hashes, so they cannot be listed.
  public func isTagged(_ tag: String) -> Bool { tags?.hashes.contains(EntryTags.hash(tag)) ?? false }
}
