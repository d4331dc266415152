/// One way to test what the cache promises: seeded, bounded in count, and judged by its figures.
///
/// `Scripts/soak` runs the long form, a test of `ReliabilityTests` a short one of the same code.
package protocol Trial: SendableMetatype {
  static var name: String { get }
  /// One line: the treatment of the cache, and the outcome to rule out.
  static var summary: String { get }
  static var defaultCount: Int { get }
  /// Runs `settings.count` rounds. Failures of the cache go into the report, with what reproduces them. Throws only
  /// when the trial itself cannot continue.
  static func run(_ settings: TrialSettings) throws -> TrialReport
}

package struct TrialSettings: Sendable {
  package var count: Int
  package var seed: UInt64
  /// An empty directory on a local disk. The caller removes it.
  package var directory: String

  package init(count: Int, seed: UInt64, directory: String) {
    (self.count, self.seed, self.directory) = (count, seed, directory)
  }
}

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
