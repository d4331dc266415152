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

  /// - Parameter key: What is shown in the place of the entry's key.
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
