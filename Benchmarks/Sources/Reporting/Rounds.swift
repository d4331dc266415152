/// How often every subject of a workload takes its turn.
public struct Rounds: Sendable {
  public var least: Int
  public var most: Int
  /// Rounds beyond the least are begun until so much time has passed.
  public var budget: Duration
  /// The time for all workloads together, their preparation included; nil: as long as it takes. A workload has an equal
  /// part of what is left, and does with fewer rounds than the least, one at the least, when that is used up.
  public var total: Duration?

  public init(least: Int, most: Int, budget: Duration, total: Duration? = nil) {
    self.least = least
    self.most = most
    self.budget = budget
    self.total = total
  }

  public static let quick = Rounds(least: 3, most: 9, budget: .milliseconds(500), total: .seconds(240))
  public static let full = Rounds(least: 7, most: 21, budget: .seconds(10))

  /// What a workload may take of the total.
  ///
  /// - Parameters:
  ///   - spent: Since the beginning of the first workload.
  ///   - workloads: How many are left, this one included.
  public func share(spent: Duration, workloads: Int) -> Duration? {
    total.map { max(.zero, $0 - spent) / max(1, workloads) }
  }

  /// Whether another round of a workload is to be begun.
  ///
  /// - Parameters:
  ///   - done: Rounds that count, so far.
  ///   - measuring: Since its first round began.
  ///   - spent: Since the workload's preparation began.
  ///   - share: What ``share(spent:workloads:)`` gave.
  public func goesOn(done: Int, measuring: Duration, spent: Duration, share: Duration?) -> Bool {
    if done < 1 { return true }
    if done >= most { return false }
    if let share, spent >= share { return false }
    return done < least || measuring < budget
  }
}
