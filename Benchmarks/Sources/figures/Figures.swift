import ArgumentParser
import Foundation

/// Measures the cache against what it has to beat, side by side in one run.
@main
struct Figures: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measures the figures that the README states.",
    discussion: """
      Every figure is a ratio within one run: subject and reference take turns, round by round, and the medians of \
      the rounds are compared. Absolute times are of this machine. Leave it alone while it measures.
      """)

  @Option(help: "Run the figures whose name contains this.") var filter = ""
  @Option(help: "Rounds; the median counts.") var rounds = 7
  @Option(help: "A directory on the disk to measure on.") var directory = FileManager.default.temporaryDirectory.path
  @Option(help: "The folder of the traces.") var traces = "Benchmarks/Traces"
  @Option(help: "Write the results to this file, as JSON.") var json: String?

  func run() throws {
    let scratch = URL(fileURLWithPath: directory).appendingPathComponent("lmdb-cache-figures-\(getpid())")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    let setup = Setup(rounds: rounds, scratch: scratch, traces: traces)
    var results: [Result] = []
    for figure in figures where filter.isEmpty || figure.name.contains(filter) {
      for result in try figure.measure(setup) {
        print(result.line)
        results.append(result)
      }
    }
    if let json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      try encoder.encode(results).write(to: URL(fileURLWithPath: json))
    }
  }

  private var figures: [any Figure] {
    [MemoryHit(), PropertyAccess(), DiskHit(), DiskSet(), Trim(), EntrySize(), MissRatio()]
  }
}

struct Setup {
  let rounds: Int
  let scratch: URL
  let traces: String

  /// A new, empty directory.
  func directory() throws -> URL {
    let url = scratch.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
  }
}

protocol Figure {
  var name: String { get }
  func measure(_ setup: Setup) throws -> [Result]
}

/// One measured figure beside its goal.
struct Result: Codable {
  var name: String
  var value: Double
  var unit: String
  /// What the value must not exceed.
  var goal: Double
  var detail: String

  var line: String {
    let mark = value <= goal ? "reached" : "MISSED "
    return "\(mark)  \(name): \(number(value)) \(unit) (goal \(number(goal))); \(detail)"
  }
}

func number(_ value: Double) -> String {
  value >= 100 ? String(Int(value.rounded())) : String(format: "%.3g", value)
}

extension [Double] {
  var median: Double {
    let sorted = sorted()
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2
  }
}

/// Nanoseconds that `body` takes, by `count`.
func nanoseconds(per count: Int, _ body: () throws -> Void) rethrows -> Double {
  let time = try ContinuousClock().measure(body)
  let (seconds, attoseconds) = time.components
  return (Double(seconds) * 1e9 + Double(attoseconds) / 1e9) / Double(count)
}

/// The same random numbers in every run.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
