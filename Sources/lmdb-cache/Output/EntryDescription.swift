import Foundation
import LMDBCaching

/// An entry as `ls --json` prints it.
struct EntryDescription: Encodable {
  let key: String
  let size: Int
  let format: String
  let cost: Int
  /// Not there: the entry does not expire.
  let expires: Date?
  let created: Date
  let lastAccess: Date

  init(_ entry: CacheEntry) {
    key = entry.key
    size = entry.size
    format = "\(entry.format)"
    cost = entry.cost
    expires = entry.expiration
    created = entry.created
    lastAccess = entry.lastAccess
  }
}
