package struct TrialReport: Sendable {
  package private(set) var figures: [(name: String, value: Int)] = []
  /// The first hundred failures of the cache, one line each.
  package private(set) var failures: [String] = []
  package private(set) var failureCount = 0

  package init() {}

  package var isPassed: Bool { failureCount == 0 }

  /// Adds to a figure. The first call also sets its position.
  package mutating func count(_ name: String, _ value: Int = 1) {
    if let index = figures.firstIndex(where: { $0.name == name }) {
      figures[index].value += value
    } else {
      figures.append((name, value))
    }
  }

  /// Keeps the greatest value of a figure.
  mutating func countMost(_ name: String, _ value: Int) { count(name, max(0, value - self[name])) }

  package mutating func fail(_ failure: String) {
    failureCount += 1
    if failures.count < 100 { failures.append(failure) }
  }

  package subscript(name: String) -> Int { figures.first { $0.name == name }?.value ?? 0 }
}
