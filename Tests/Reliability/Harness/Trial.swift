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
