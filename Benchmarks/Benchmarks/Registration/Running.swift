import Foundation
import Workloads

/// The trial of a benchmark, which is there from its first iteration until its teardown.
// Unchecked: the tool runs one benchmark at a time, from its first iteration to its teardown.
final class Running: @unchecked Sendable {
  private let title: String
  private let subject: String
  private var current: (trial: Trial, setting: Setting)?

  init(_ title: String, _ subject: String) {
    self.title = title
    self.subject = subject
  }

  func trial() throws -> Trial {
    if let current { return current.trial }
    let setting = try makeSetting()
    guard let workload = Catalogue.workloads(setting).first(where: { $0.title == title }) else {
      fatalError("There is no workload \(title).")
    }
    let trials = try workload.trials(setting)
    guard let place = trials.firstIndex(where: { $0.subject == subject && $0.threads == 1 }) else {
      fatalError("Nobody of the name \(subject) does \(title).")
    }
    // What a subject shares with another goes with the last of them: all of them end in the teardown.
    finishes = trials.map(\.finish)
    current = (trials[place], setting)
    return trials[place]
  }

  private var finishes: [() throws -> Void] = []

  func finish() throws {
    for finish in finishes { try finish() }
    finishes = []
    if let current { try FileManager.default.removeItem(at: current.setting.scratch) }
    current = nil
  }
}

/// Calls `body` with a scratch directory that is gone afterwards.
func withSetting(_ body: (Setting) throws -> Void) throws {
  let setting = try makeSetting()
  try body(setting)
  try FileManager.default.removeItem(at: setting.scratch)
}

private func makeSetting() throws -> Setting {
  let scratch = FileManager.default.temporaryDirectory
    .appendingPathComponent("lmdb-cache-thresholds-\(getpid())-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
  return Setting(scale: .check, scratch: scratch, traces: traces, hasPeers: false)
}

private let traces = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Traces").standardized
