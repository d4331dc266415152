import Foundation

/// Shared limits for reading plain values from property lists and keyed archives.
///
/// Objects with several references are created once for each, so the total is limited in proportion to the input's
/// length, and a depth limit ends cycles.
struct PlainReading {
  /// Deeper values are left to object decoding.
  private static let maximumDepth = 128

  private var left: Int
  /// The budget for values that fail to decode, before they are charged to ``left``.
  private var spare: Int
  private var depth = 0

  init(length: Int) {
    left = 1 << 16 + 8 * length
    spare = 8 * left
  }

  /// The state after a failed value, charging its cost.
  func afterFailure(_ failed: PlainReading) -> PlainReading {
    var next = self
    let wasted = left - failed.left
    if wasted <= spare { next.spare -= wasted } else { next.left = failed.left }
    return next
  }

  /// Charges a value of `bytes` bytes. Returns `false` beyond the budget.
  mutating func take(_ bytes: Int) -> Bool {
    left -= 1 + bytes
    return left >= 0
  }

  mutating func enter() -> Bool {
    guard depth < Self.maximumDepth else { return false }
    depth += 1
    return true
  }

  mutating func leave() { depth -= 1 }

  /// A value that is not a collection. Returns `nil` for collections, for references, and beyond the budget.
  mutating func leaf(_ node: PropertyListNode) -> PlainValue? {
    switch node {
    case .boolean(let value): take(0) ? .bool(value) : nil
    case .integer(let value): take(0) ? .integer(value) : nil
    case .unsigned(let value): take(0) ? .unsigned(value) : nil
    case .real(let value): take(0) ? .double(value) : nil
    case .date(let seconds): take(0) ? .date(Date(timeIntervalSinceReferenceDate: seconds)) : nil
    case .data(let data): take(data.count) ? .data(data) : nil
    case .string(let text): take(text.utf8.count) ? .string(text) : nil
    case .uid, .array, .dictionary: nil
    }
  }

  /// Whether all keys are distinct as Swift strings, which may be equal despite different bytes.
  static func areDistinct(_ entries: [PlainValue.Entry]) -> Bool {
    Set(entries.lazy.map(\.key)).count == entries.count
  }
}
