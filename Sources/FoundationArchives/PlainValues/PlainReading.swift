import Foundation

/// What is common to reading plain values from property lists and from keyed archives.
///
/// Objects that are referred to from several places are made for each of them: so there is a limit of what is made, in
/// proportion to the length of what is read, and one of depth, which also ends circles.
struct PlainReading {
  /// Deeper values are left to who makes objects of them.
  private static let maximumDepth = 128

  private var left: Int
  /// What may be made in vain, of values that cannot be read, before it is taken from ``left``.
  private var spare: Int
  private var depth = 0

  init(length: Int) {
    left = 1 << 16 + 8 * length
    spare = 8 * left
  }

  /// This state with what was made since then, in vain, taken into account.
  func afterFailure(_ failed: PlainReading) -> PlainReading {
    var next = self
    let wasted = left - failed.left
    if wasted <= spare { next.spare -= wasted } else { next.left = failed.left }
    return next
  }

  /// Takes a value of so many bytes from what may be made. Returns `false` if that is too much.
  mutating func take(_ bytes: Int) -> Bool {
    left -= 1 + bytes
    return left >= 0
  }

  /// Goes one level deeper. Returns `false` if that is too deep.
  mutating func enter() -> Bool {
    guard depth < Self.maximumDepth else { return false }
    depth += 1
    return true
  }

  mutating func leave() { depth -= 1 }

  /// A value that is in the list itself, but for collections. Returns `nil` for those, for references, and for too much.
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

  /// Whether a dictionary can have all of these keys: Swift's strings are equal where their bytes are not.
  static func areDistinct(_ entries: [PlainValue.Entry]) -> Bool {
    Set(entries.lazy.map(\.key)).count == entries.count
  }
}
