import Foundation
import LMDBCaching
import TestSupport

/// Checks a history of many operations by several processes against the promised order.
///
/// The bound is the group-commit interval plus three times the round's longest `write` or update: a set whose interval
/// is over waits at most for the running update, for the commit that it makes first, and for its own commit.
package enum LinearizabilityTrial: Trial {
  package static let name = "linearizability"
  package static let summary =
    "Several processes read and write a few keys: nothing stale, backwards, torn or invented."
  package static let defaultCount = 1_000_000

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    var staleness: [Int64] = []
    let rounds = min(12, max(3, settings.count / 20_000))
    for round in 0..<rounds {
      let processes = 3 + random.below(2)
      let load = SharedLoad(
        directory: settings.directory + "/\(round)", threads: 2 + random.below(2),
        operations: 0, seed: random.next(), durability: [1, 1, 3, 2][round % 4],
        interval: [5, 1, 20, 0, 50][random.below(5)], memoryCount: [Int.max, Int.max, 3, 0][random.below(4)])
      let workers = processes * load.threads
      let share = (settings.count / rounds + workers) / workers
      try run(load, processes, share, &report, &staleness)
      try FileManager.default.removeItem(atPath: load.directory)
    }
    staleness.sort()
    report.count("reads of what another process had overwritten", staleness.count)
    if let longest = staleness.last {
      report.count("staleness, 50 %, µs", Int(staleness[staleness.count / 2] / 1_000))
      report.count("staleness, 99 %, µs", Int(staleness[staleness.count * 99 / 100] / 1_000))
      report.count("staleness, longest, µs", Int(longest / 1_000))
    }
    return report
  }

  private static func run(
    _ load: SharedLoad, _ processes: Int, _ operations: Int, _ report: inout TrialReport, _ staleness: inout [Int64]
  ) throws {
    var load = load
    load.operations = operations
    var outputs: [String] = []
    let children = try (0..<processes).map { process in
      load.process = process
      load.output = load.directory + ".\(process)"
      outputs.append(load.output)
      let text = String(decoding: try JSONEncoder().encode(load), as: UTF8.self)
      return try ChildProcess("soak", ["role", HistoryRole.name, text])
    }
    let title = "durability \(load.durability), interval \(load.interval) ms, seed \(load.seed)"
    for child in children where child.readLine() != "open" { report.fail("\(title): a process did not open the cache") }
    for child in children { child.send("go") }
    for child in children where child.readLine() != "done" { report.fail("\(title): a process failed") }
    for child in children { child.end() }
    guard report.isPassed else { return }

    let records = try outputs.flatMap { try HistoryFile.read($0) }
    let transactions = records.filter { $0.isCommitted && $0.group != 0 || $0.kind == .update }
    let longest = transactions.map { $0.end - $0.start }.max() ?? 0
    let bound = Int64(load.interval) * 1_000_000 + 3 * longest
    let findings = HistoryChecker(bound: bound).check(records)
    for (fault, description) in findings.faults { report.fail("\(title): \(description)"); report.count("\(fault)") }
    report.count("operations", processes * load.threads * operations)
    report.count("processes", processes)
    report.count("reads", findings.reads)
    report.count("writes", findings.writes)
    report.count("longest commit, µs", max(0, Int(longest / 1_000) - report["longest commit, µs"]))
    report.count("greatest bound, µs", max(0, Int(bound / 1_000) - report["greatest bound, µs"]))
    staleness += findings.staleness
  }
}
