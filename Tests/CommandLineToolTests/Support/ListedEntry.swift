import Foundation

/// An entry in the output of `ls --json`.
struct ListedEntry: Decodable {
  let key: String
  let size: Int
  let format: String
  let cost: Int
  let expires: Date?
  let created: Date
}
