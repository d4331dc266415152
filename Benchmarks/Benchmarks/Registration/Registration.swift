public import Benchmark
import CAllocations
import Foundation
import Workloads

/// Registers the project's own subjects of the workloads whose names start with `prefix`, each in one thread.
///
/// What is measured does not depend on the machine: allocations, and misses where there is a hit ratio. Times are for the
/// side-by-side run.
public func register(_ prefix: String) {
  do {
    // The subjects' names are known when they are there.
    try withSetting { setting in
      for workload in Catalogue.workloads(setting) where workload.name.hasPrefix(prefix) {
        let trials = try workload.trials(setting)
        for trial in trials where trial.isOwn && trial.threads == 1 {
          register(workload.title, trial.subject, operations: trial.operations, isTrace: prefix == "trace.")
        }
        for trial in trials { try trial.finish() }
      }
    }
  } catch {
    fatalError("\(prefix): \(error)")
  }
}

private func register(_ title: String, _ subject: String, operations: Int, isTrace: Bool) {
  let metrics = isTrace ? [allocations, misses] : [allocations]
  let configuration = Benchmark.Configuration(
    metrics: metrics, warmupIterations: 1, maxDuration: .seconds(5), maxIterations: 5,
    // For what happens now and then: a table that grows, a wake-up of a thread.
    thresholds: [
      allocations: BenchmarkThresholds(absolute: [.p90: max(100, 3000 / operations)]),
      misses: BenchmarkThresholds(absolute: [.p90: 300]),
    ].filter { metrics.contains($0.key) })
  // The file of its thresholds is named after it, and after the target, which has the prefix's name.
  let name = "\(title.drop { $0 != "." }) \(subject)".split { !$0.isLetter && !$0.isNumber && $0 != "." }
    .joined(separator: "-").drop { $0 == "." }
  let running = Running(title, subject)
  Benchmark(String(name), configuration: configuration) { benchmark in
    do {
      let trial = try running.trial()
      try trial.before()
      benchmark.startMeasurement()
      let start = allocations_made()
      try trial.body()
      let made = allocations_made() - start
      benchmark.stopMeasurement()
      benchmark.measurement(allocations, Int(made) * 1000 / trial.operations)
      if let ratio = try trial.after()["hitRatio"], isTrace {
        benchmark.measurement(misses, Int(((1 - ratio) * 100_000).rounded()))
      }
    } catch {
      benchmark.error("\(error)")
    }
  } teardown: {
    try running.finish()
  }
}

private let allocations = BenchmarkMetric.custom("allocationsOf1000Operations", useScalingFactor: false)
private let misses = BenchmarkMetric.custom("missesOf100000Requests", useScalingFactor: false)
