/// A set of page numbers, one bit each. Memory grows with its members, not with the last page that a file claims.
struct PageSet {
  /// Numbers per chunk of 8 KiB.
  private static let chunk = 1 << 16
  private var chunks: [Int: [UInt64]] = [:]
  private(set) var count = 0

  /// Returns whether the number is new.
  @inline(__always)
  mutating func insert(_ page: Int) -> Bool {
    let isNew = Self.insert(
      page % Self.chunk, into: &chunks[page / Self.chunk, default: Array(repeating: 0, count: Self.chunk / 64)])
    if isNew { count += 1 }
    return isNew
  }

  private static func insert(_ number: Int, into words: inout [UInt64]) -> Bool {
    let bit: UInt64 = 1 << UInt64(number & 63)
    if words[number >> 6] & bit != 0 { return false }
    words[number >> 6] |= bit
    return true
  }

  func contains(_ page: Int) -> Bool {
    guard let words = chunks[page / Self.chunk] else { return false }
    return words[(page % Self.chunk) >> 6] & 1 << UInt64(page & 63) != 0
  }
}
