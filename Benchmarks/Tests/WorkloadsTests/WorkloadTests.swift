import Foundation
import Testing

@testable import Reporting
@testable import Workloads

/// Every workload does what it says, with every subject that is built in.
@Suite(.serialized) struct WorkloadTests {
  private static let traces = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Traces").standardized

  private static let titles = Catalogue.workloads(setting(URL(fileURLWithPath: "/"))).map(\.title)

  private static func setting(_ scratch: URL) -> Setting { Setting(scale: .check, scratch: scratch, traces: traces) }

  private func withSetting<R>(_ body: (Setting) throws -> R) throws -> R {
    let scratch = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    let result = try body(Self.setting(scratch))
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == [])
    try FileManager.default.removeItem(at: scratch)
    return result
  }

  @Test(arguments: titles) func givesRightValues(_ title: String) throws {
    try withSetting { setting in
      let workload = try #require(Catalogue.workloads(setting).first { $0.title == title })
      let trials = try workload.trials(setting)
      for trial in trials {
        #expect(trial.operations > 0)
        // Twice, since a subject takes its turn again and again.
        for round in 0..<2 {
          try trial.before()
          try trial.body()
          if round == 0 { try trial.verify() }
          for (name, reading) in try trial.after() { #expect(reading.isFinite, "\(trial.subject): \(name)") }
        }
      }
      for trial in trials { try trial.finish() }
      let names = trials.map { "\($0.subject), \($0.threads)" }
      #expect(Set(names).count == names.count, "Two subjects of \(title) have one name.")
    }
  }

  @Test func titlesAreUnique() { #expect(Set(Self.titles).count == Self.titles.count) }

  @Test func goalsNameSubjectsThatThereAre() throws {
    let workloads = Set(Goal.all.flatMap { [$0.own.workload, $0.peer.workload] })
    var names: [String: Set<String>] = [:]
    try withSetting { setting in
      for workload in Catalogue.workloads(setting) where workloads.contains(workload.name) {
        let trials = try workload.trials(setting)
        names[workload.name, default: []].formUnion(trials.map { "\($0.subject), \($0.threads)" })
        for trial in trials { try trial.finish() }
      }
    }
    // The long traces are not replayed on this scale: the short one has their subjects.
    let whole = Setting(scale: .full, scratch: URL(fileURLWithPath: "/"), traces: Self.traces)
    for trace in Catalogue.workloads(whole).map(\.name) where trace.hasPrefix("trace.") && names[trace] == nil {
      names[trace] = names[trace.hasPrefix("trace.disk.") ? "trace.disk.web07" : "trace.web07"]
    }
    for goal in Goal.all {
      for selection in [goal.own, goal.peer] where !DiskSubjectKind.optionalNames.contains(selection.subject) {
        #expect(
          names[selection.workload]?.contains("\(selection.subject), \(selection.threads)") == true,
          "\(goal.name): nobody measures \(selection.subject)")
      }
    }
  }
}
