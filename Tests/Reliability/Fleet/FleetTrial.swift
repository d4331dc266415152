import Foundation
import Platform
import RedisTestSupport
import TestSupport

/// Six processes, two in one directory, use a server that fails in every way or fails over. Their reads are
/// checked against the acknowledged writes.
package enum FleetTrial: Trial {
  package static let name = "fleet"
  package static let summary =
    "A fleet whose server is killed, suspended, emptied, full and replaced: no read is older than stated, nothing is lost."
  package static let defaultCount = 1_000_000

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    let disturber = try Disturber(seed: settings.seed)
    let perMachine = max(FleetPlan.threads, settings.count / FleetPlan.machines)
    let machines = try (0..<FleetPlan.machines).map { number in
      try Member(number, settings, disturber.link, perMachine)
    }
    while machines.contains(where: { !$0.isDone.current }) {
      try disturber.disturb(&report)
      // Kill only the machine whose queue survives.
      let queue = machines[FleetPlan.killedMachine]
      if disturber.random.below(3) == 0, machines.contains(where: { $0 !== queue && !$0.isDone.current }),
        !queue.isDone.current
      {
        try queue.killAndRestart(max(FleetPlan.threads, perMachine / 8))
        report.count("kills of a machine")
      }
    }
    try disturber.calm()
    usleep(UInt32(2 * FleetPlan.recovery / 1_000))
    try compare(machines, &report)
    for machine in machines { machine.end() }
    judge(machines, disturber.disturbances, settings, &report)
    return report
  }

  /// Every machine writes its keys again; all machines must then agree on every key.
  private static func compare(_ machines: [Member], _ report: inout TrialReport) throws {
    var expected: [Int: Int] = [:]
    for machine in machines { expected.merge(machine.ask("write")) { $1 } }
    guard expected.count == FleetPlan.ownKeys else {
      return report.fail("the last writes were not made: \(expected.count)")
    }
    // Generous: the reads before this check the speed.
    let limit = MonotonicClock.nanoseconds + 60_000_000_000
    var found: [[Int: Int]] = []
    repeat {
      if !found.isEmpty { usleep(100_000) }
      found = machines.map { $0.ask("check") }
      for key in FleetPlan.ownKeys..<FleetPlan.keys { expected[key] = found[0][key] }
    } while found.contains { $0 != expected } && MonotonicClock.nanoseconds < limit
    for (machine, found) in zip(machines, found) {
      for (key, version) in found where expected[key] != version {
        report.fail(
          "machine \(machine.number) ends with version \(version) of key \(key), and not \(expected[key] ?? 0)")
      }
      report.count("entries compared", found.count)
    }
  }

  private static func judge(
    _ machines: [Member], _ disturbances: [FleetHistory.Disturbance], _ settings: TrialSettings,
    _ report: inout TrialReport
  ) {
    let histories = (0..<FleetPlan.machines).map { FleetEvent.events(in: settings.directory + "/history-\($0)") }
    let offset = RealTimeClock.nanoseconds - MonotonicClock.nanoseconds
    // The short form runs among other tests, on any machine.
    let slack: Int64 = settings.count < 100_000 ? 10_000_000_000 : 500_000_000
    let history = FleetHistory(histories, disturbances, offset: offset, slack: slack)
    for (reader, events) in histories.enumerated() {
      let reads = events.filter { $0.kind == .read }
      let figures: KeyValuePairs = [
        "writes": events.count { $0.kind == .begun },
        "acknowledged writes": events.count { $0.kind == .acknowledged },
        "times threads were held up": events.count { $0.kind == .paused },
        "reads": reads.count, "reads of nothing": reads.count { $0.version == 0 },
        "reads of keys that all write": reads.count { FleetPlan.isContested($0.key) },
      ]
      for (name, figure) in figures { report.count(name, figure) }
      for read in reads {
        if let finding = history.finding(read, by: reader) { report.fail(finding) }
      }
    }
    for machine in machines {
      for fault in machine.faults.current { report.fail("machine \(machine.number): \(fault)") }
    }
  }
}

extension FleetTrial {
  // Sendable: only the trial's thread uses `process`; the thread that reads its lines ends before the next one starts.
  private final class Member: @unchecked Sendable {
    let number: Int
    let isDone = Guarded(false)
    let faults = Guarded<[String]>([])
    private let settings: TrialSettings
    private let server: String
    private var process: ChildProcess
    private let reading = DispatchGroup()

    init(_ number: Int, _ settings: TrialSettings, _ server: String, _ operations: Int) throws {
      (self.number, self.settings, self.server) = (number, settings, server)
      process = try Self.start(number, settings, server, operations, life: 0)
      awaitEnd()
    }

    private static func start(
      _ number: Int, _ settings: TrialSettings, _ server: String, _ operations: Int, life: UInt64
    ) throws -> ChildProcess {
      let seed = settings.seed &* 1_000 &+ UInt64(number) &+ life &* 100
      return try ChildProcess(
        "soak", ["role", FleetTrial.name, settings.directory, server, "\(number)", "\(operations)", "\(seed)"])
    }

    private func awaitEnd() {
      inBackground(reading) { [process, isDone, faults] in
        while let line = process.readLine() {
          if line == "done" { return isDone { $0 = true } }
          faults { $0.append(line) }
        }
      }
    }

    private var lives: UInt64 = 0

    func killAndRestart(_ operations: Int) throws {
      process.kill()
      reading.wait()
      // It may have finished just before the kill.
      isDone { $0 = false }
      lives += 1
      process = try Self.start(number, settings, server, operations, life: lives)
      awaitEnd()
    }

    func ask(_ question: String) -> [Int: Int] {
      reading.wait()
      let answer = process.run(question) ?? "it has ended"
      let pairs = answer.split(separator: " ").compactMap { word -> (Int, Int)? in
        let parts = word.split(separator: "=").map { Int($0) }
        guard parts.count == 2, let key = parts[0], let version = parts[1] else { return nil }
        return (key, version)
      }
      if pairs.isEmpty { faults { $0.append(answer) } }
      return Dictionary(pairs) { $1 }
    }

    func end() {
      if process.run("end") != "ended" { faults { $0.append("did not end") } }
      process.end()
    }
  }
}
