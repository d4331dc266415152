/// A set of page numbers, one bit each.
struct PageSet {
  private var words: [UInt64]
  private(set) var count = 0

  /// - Parameter bound: Greater than every number that will be inserted.
  init(below bound: Int) { words = [UInt64](repeating: 0, count: (bound + 63) / 64) }

  /// Whether the number is new.
  @inline(__always)
  mutating func insert(_ page: Int) -> Bool {
    let bit: UInt64 = 1 << UInt64(page & 63)
    if words[page >> 6] & bit != 0 { return false }
    words[page >> 6] |= bit
    count += 1
    return true
  }

  func contains(_ page: Int) -> Bool { words[page >> 6] & 1 << UInt64(page & 63) != 0 }
}
