/// One way to try what the cache promises: seeded, bounded in count, and judged by its figures.
///
/// `Scripts/soak` runs the long form, a test of `ReliabilityTests` a short one of the same code.
package protocol Trial: SendableMetatype {
  /// The word that names it on the command line.
  static var name: String { get }
  /// One line: what is done to the cache, and what must not happen.
  static var summary: String { get }
  /// The rounds of the long form.
  static var defaultCount: Int { get }
  /// Does `settings.count` rounds. What the cache failed to keep goes into the report's failures, with what is needed
  /// to see it again; an error is thrown only when the trial itself cannot go on.
  static func run(_ settings: TrialSettings) throws -> TrialReport
}
