import Foundation
import LMDBCaching

/// One change, as `watch` prints it.
struct ChangeLine: Encodable {
  /// set, removed, expired, removed all, or missed.
  let change: String
  let date: Date
  /// Not there for removals of many, and where it is not known.
  let key: String?
  /// Of a value that was set.
  let size: Int?
  let format: String?
  /// Not there: the entry does not expire.
  let expires: Date?

  init(_ event: CacheFollower.Event, at date: Date) {
    change =
      switch event.change {
      case .set: "set"
      case .removed: "removed"
      case .evicted: "evicted"
      case .expired: "expired"
      case .removedAll: "removed all"
      case .missed: "missed"
      }
    self.date = date
    key = event.change.key
    size = event.entry?.size
    format = event.entry.map { "\($0.format)" }
    expires = event.entry?.expiration
  }

  /// More has happened than is known.
  init(missed date: Date) {
    change = "missed"
    self.date = date
    (key, size, format, expires) = (nil, nil, nil, nil)
  }

  /// In columns, which are as wide on every line: there is no table to be made of what is yet to come.
  var text: String {
    let time = date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    let size = size.map { Formatting.grouped($0) } ?? "-"
    let cells = [
      time, Self.padded(change, 11), String(repeating: " ", count: max(0, 11 - size.count)) + size,
      Self.padded(format ?? "-", 15), key.map(Formatting.key) ?? "-",
    ]
    return cells.joined(separator: "  ")
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
