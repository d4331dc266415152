package import Foundation

extension IndexSet {
  /// Where each range begins and how long it is, in ascending order and apart from each other, as index sets have them.
  ///
  /// Returns `nil` for numbers that are something else.
  package init?(checking ranges: [Int]) {
    guard ranges.count.isMultiple(of: 2) else { return nil }
    self.init()
    var end = -1
    for index in stride(from: 0, to: ranges.count, by: 2) {
      let (location, length) = (ranges[index], ranges[index + 1])
      // Below NSNotFound, which stands for no index.
      guard location > end, length > 0, length <= NSNotFound - location else { return nil }
      end = location + length
      insert(integersIn: location..<end)
    }
  }
}
