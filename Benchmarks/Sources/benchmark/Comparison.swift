import Reporting
import Workloads

/// Runs one workload with all its subjects in turns.
struct Comparison {
  private let workload: Workload
  private let rounds: Rounds

  init(_ workload: Workload, _ rounds: Rounds) {
    self.workload = workload
    self.rounds = rounds
  }

  /// - Parameter share: The time limit of the workload; nil for no limit.
  func run(_ setting: Setting, share: Duration?) throws -> [SubjectResult] {
    let clock = ContinuousClock()
    let begin = clock.now
    let trials = try workload.trials(setting)
    var times = Array(repeating: [Double](), count: trials.count)
    var readings = Array(repeating: [String: [Double]](), count: trials.count)
    let start = clock.now
    // The first round warms up, is verified, and does not count.
    var round = -1
    while rounds.goesOn(done: round, measuring: clock.now - start, spent: clock.now - begin, share: share) {
      // Alternates the direction, so that no subject always follows the same one.
      for place in round % 2 == 0 ? Array(trials.indices) : trials.indices.reversed() {
        let trial = trials[place]
        try trial.before()
        let time = try clock.measure { try trial.body() }
        if round < 0 { try trial.verify() }
        let found = try trial.after()
        if round < 0 { continue }
        times[place].append(time / .nanoseconds(1) / Double(trial.operations))
        readings[place].merge(found.mapValues { [$0] }, uniquingKeysWith: +)
      }
      round += 1
    }
    for trial in trials { try trial.finish() }
    return trials.indices.map { place in
      SubjectResult(
        workload: workload.name, subject: trials[place].subject, threads: trials[place].threads,
        parameters: workload.parameters, times: times[place], operationsPerRun: trials[place].operations,
        readings: readings[place].mapValues(\.median))
    }
  }
}
