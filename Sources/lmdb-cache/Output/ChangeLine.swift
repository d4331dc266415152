import Foundation
import LMDBCaching

/// One change, as printed by `watch`.
struct ChangeLine: Encodable {
  /// set, removed, expired, removed all, or missed.
  let change: String
  let date: Date
  /// Absent for bulk removals, and if unknown.
  let key: String?
  /// The size of a set value.
  let size: Int?
  let format: String?
  /// Absent if the entry does not expire.
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

  /// Some changes were missed.
  init(missed date: Date) {
    change = "missed"
    self.date = date
    (key, size, format, expires) = (nil, nil, nil, nil)
  }

  /// Fixed-width columns, because later lines are unknown.
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
