import ArgumentParser
import Foundation
import Reporting
import Workloads

/// Measures the cache and its alternatives side by side in one run.
@main
struct Benchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measures the cache beside what a user would pick instead.",
    discussion: """
      All subjects of a workload take turns, round by round, and the medians of the rounds are compared: compare \
      ratios, since times are of the machine. Leave it alone while it measures.
      """)

  @Flag(help: "Fewer rounds of less work: it ends within five minutes.") var quick = false
  @Option(
    help: ArgumentHelp(
      "Measure the workloads whose title matches this regular expression, such as 'disk.set 100 B'.",
      valueName: "pattern"))
  var filter = ""
  @Option(help: ArgumentHelp("Write the results to this file, as JSON.", valueName: "file")) var json: String?
  @Option(help: "A directory on the disk to measure on.") var directory = FileManager.default.temporaryDirectory.path
  @Option(help: "The folder of the traces.") var traces = "Benchmarks/Traces"
  @Flag(help: "Only list the workloads' titles.") var list = false

  static func main() {
    KilledWriter.beginProgram()
    ChangeWatcher.beginProgram()
    main(nil)
  }

  func run() throws {
    let parent = URL(fileURLWithPath: directory)
    let workloads = try selected(setting(parent))
    if list {
      for workload in workloads { show(workload.title) }
      return
    }
    let scratch = try Scratch(in: parent)
    let machine = Machine.current(libraries: Libraries.versions)
    show(machine.description)
    let results: [SubjectResult]
    do {
      results = try measure(workloads, setting(scratch.url))
    } catch {
      try scratch.remove()
      throw error
    }
    try scratch.remove()
    let goals = Goal.all.compactMap { $0.judgement(results) }
    if !goals.isEmpty { show(Judgement.table(goals)) }
    if let json {
      try Report(machine: machine, isQuick: quick, results: results, goals: goals).json()
        .write(to: URL(fileURLWithPath: json))
    }
  }

  private func setting(_ scratch: URL) -> Setting {
    Setting(scale: quick ? .quick : .full, scratch: scratch, traces: URL(fileURLWithPath: traces, isDirectory: true))
  }

  private func selected(_ setting: Setting) throws -> [Workload] {
    let filter: WorkloadFilter
    do {
      filter = try WorkloadFilter(self.filter)
    } catch {
      throw ValidationError("'\(self.filter)' is no regular expression: \(error)")
    }
    let workloads = Catalogue.workloads(setting).filter { filter.selects($0.title) }
    if workloads.isEmpty { throw ValidationError("No workload matches '\(self.filter)'; --list shows them all.") }
    return workloads
  }

  private func measure(_ workloads: [Workload], _ setting: Setting) throws -> [SubjectResult] {
    let rounds = quick ? Rounds.quick : .full
    let clock = ContinuousClock()
    let start = clock.now
    var results: [SubjectResult] = []
    for (place, workload) in workloads.enumerated() {
      let share = rounds.share(spent: clock.now - start, workloads: workloads.count - place)
      let measured = try Comparison(workload, rounds).run(setting, share: share)
      show(Table(workload.title, measured).text)
      results += measured
    }
    return results
  }

  /// Unbuffered, so that intermediate results of a long run can be read.
  private func show(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
