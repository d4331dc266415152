package import Foundation

extension IndexSet {
  /// Each range's start and length, ascending and not adjacent, as in index sets.
  ///
  /// Returns `nil` for other numbers.
  package init?(checking ranges: [Int]) {
    guard ranges.count.isMultiple(of: 2) else { return nil }
    self.init()
    var end = -1
    for index in stride(from: 0, to: ranges.count, by: 2) {
      let (location, length) = (ranges[index], ranges[index + 1])
      // Below NSNotFound, which means no index.
      guard location > end, length > 0, length <= NSNotFound - location else { return nil }
      end = location + length
      insert(integersIn: location..<end)
    }
  }
}
