/// The number of rounds that every subject of a workload gets.
public struct Rounds: Sendable {
  public var least: Int
  public var most: Int
  /// Beyond the least number, rounds start until this much time has passed.
  public var budget: Duration
  /// The time for all workloads, with their preparation; nil means unlimited. Each workload gets an equal part of the
  /// remaining time, and when that is used up, stops before the least number of rounds, but not before the first.
  public var total: Duration?

  public init(least: Int, most: Int, budget: Duration, total: Duration? = nil) {
    self.least = least
    self.most = most
    self.budget = budget
    self.total = total
  }

  public static let quick = Rounds(least: 3, most: 9, budget: .milliseconds(500), total: .seconds(240))
  public static let full = Rounds(least: 7, most: 21, budget: .seconds(10))

  /// A workload's part of the total.
  ///
  /// - Parameters:
  ///   - spent: Since the start of the first workload.
  ///   - workloads: The number of remaining workloads, including this one.
  public func share(spent: Duration, workloads: Int) -> Duration? {
    total.map { max(.zero, $0 - spent) / max(1, workloads) }
  }

  /// Whether to start another round.
  ///
  /// - Parameters:
  ///   - done: Rounds that count, so far.
  ///   - measuring: Since the first round.
  ///   - spent: Since the workload's preparation.
  ///   - share: The result of ``share(spent:workloads:)``.
  public func goesOn(done: Int, measuring: Duration, spent: Duration, share: Duration?) -> Bool {
    if done < 1 { return true }
    if done >= most { return false }
    if let share, spent >= share { return false }
    return done < least || measuring < budget
  }
}
