import Foundation

/// What `ls --json` prints for an entry.
struct ListedEntry: Decodable {
  let key: String
  let size: Int
  let format: String
  let cost: Int
  let expires: Date?
  let created: Date
}
