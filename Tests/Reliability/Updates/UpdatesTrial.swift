import Foundation
import LMDBCaching
import TestSupport

/// Processes that increment a few numbers start, exit, and get killed and suspended at random moments, also while the
/// cache switches between exclusive and shared use.
package enum UpdatesTrial: Trial {
  package static let name = "updates"
  package static let summary =
    "Processes add to numbers, come, go and die: no acknowledged addition is missing, none is counted twice."
  package static let defaultCount = 1_000

  static let keys = (0..<3).map { "number\($0)" }
  private static let disturbancesOfRound = 50
  private static let crowds = [1, 2, 3, 4, 6]

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    let rounds = max(1, (settings.count + disturbancesOfRound - 1) / disturbancesOfRound)
    for round in 0..<rounds {
      let path = settings.directory + "/\(round)"
      let count = min(disturbancesOfRound, settings.count - round * disturbancesOfRound)
      try run(path, crowd: crowds[round % crowds.count], disturbances: count, &random, &report)
      try FileManager.default.removeItem(atPath: path)
    }
    return report
  }

  private final class Adder: Sendable {
    let process: ChildProcess
    let sums = Guarded([Int](repeating: 0, count: keys.count))
    let faults = Guarded<[String]>([])
    private let reading = DispatchGroup()

    init(_ path: String, seed: UInt64) throws {
      process = try ChildProcess("soak", ["role", UpdatesRole.name, path, "\(seed)"])
      inBackground(reading) { [process, sums, faults] in
        while let line = process.readLine() {
          if let key = Int(line), keys.indices.contains(key) {
            sums { $0[key] += 1 }
          } else {
            faults { $0.append(line) }
          }
        }
      }
    }

    /// Returns once all of its output is read.
    func kill() {
      process.kill()
      reading.wait()
    }
  }

  private static func run(
    _ path: String, crowd: Int, disturbances: Int, _ random: inout SeededRandom, _ report: inout TrialReport
  ) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var acknowledged = [Int](repeating: 0, count: keys.count)
    var kills = 0
    func bury(_ adder: Adder) {
      adder.kill()
      for (key, sum) in adder.sums.current.enumerated() { acknowledged[key] += sum }
      for fault in adder.faults.current { report.fail("\(path), \(crowd) processes: \(fault)") }
      kills += 1
    }
    var adders = try (0..<crowd).map { _ in try Adder(path, seed: random.next()) }
    for _ in 0..<disturbances {
      usleep(UInt32(1_000 + random.below(60_000)))
      let index = random.below(crowd)
      if random.below(4) == 0 {
        adders[index].process.suspend()
        usleep(UInt32(random.below(30_000)))
        adders[index].process.resume()
        report.count("suspensions")
      } else {
        bury(adders[index])
        adders[index] = try Adder(path, seed: random.next())
      }
    }
    for adder in adders { bury(adder) }

    let cache = try TrialCache.open(path)
    let found = try keys.map { try cache.value(Int.self, forKey: $0) ?? 0 }
    try cache.close()
    for (key, sum) in found.enumerated() where sum < acknowledged[key] {
      report.fail("\(path), \(crowd) processes: \(acknowledged[key]) were added to \(keys[key]), which is \(sum)")
    }
    // Each killed process may have made one unacknowledged increment.
    let unanswered = found.reduce(0, +) - acknowledged.reduce(0, +)
    if unanswered > kills { report.fail("\(path), \(crowd) processes: \(unanswered) more than were added") }
    report.count("kills", kills)
    report.count("acknowledged additions", acknowledged.reduce(0, +))
  }
}
