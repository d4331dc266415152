import Foundation
import LMDBCaching

/// An entry, as printed by `ls --json`.
struct EntryDescription: Encodable {
  let key: String
  let size: Int
  let format: String
  let cost: Int
  /// Absent if the entry does not expire.
  let expires: Date?
  let created: Date
  let lastAccess: Date

  init(_ entry: CacheEntry, key: String? = nil) {
    self.key = key ?? entry.key
    size = entry.size
    format = "\(entry.format)"
    cost = entry.cost
    expires = entry.expiration
    created = entry.created
    lastAccess = entry.lastAccess
  }
}
