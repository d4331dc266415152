import Foundation
import TestSupport
import Testing

@testable import Reliability

/// Each trial with a small count. `Scripts/soak` runs the long form.
@Suite struct ShortTrialTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let trial: any Trial.Type
    let count: Int
    var seed: UInt64 = 1
    /// The least value of each figure that shows an effect.
    var least: [String: Int]

    var testDescription: String { trial.name }
  }

  static let rows: [Row] = {
    var rows = [
      Row(trial: ChurnTrial.self, count: 30_000, least: ["replacements": 30_000, "readers killed in a snapshot": 4]),
      Row(
        trial: CorruptionTrial.self, count: 42,
        least: ["recoveries": 5, "meta pages": 1, "leaf pages": 1, "freeList pages": 1, "values": 1, "journals": 1]),
      Row(trial: DeletionTrial.self, count: 4, least: ["rounds": 4, "entries checked": 1]),
      Row(trial: FleetTrial.self, count: 20_000, least: ["reads": 10_000, "acknowledged writes": 300]),
      Row(
        trial: KillTrial.self, count: 30,
        least: [
          "kills": 30, "acknowledged writes": 100, "acknowledged additions": 1, "entries compared": 10,
          "reads during the kills": 1,
        ]),
      // `LMDBCachingTests` runs most of the model.
      Row(
        trial: ModelTrial.self, count: 4, seed: 101,
        least: ["set": 1, "load": 1, "child increment": 1, "race": 1, "failing": 1, "crash": 1, "killChild": 1]),
      Row(trial: SuspensionTrial.self, count: 3, least: ["rounds": 3, "entries checked": 1]),
      Row(trial: UserDefaultsTrial.self, count: 12, least: ["exits": 1, "kills": 1, "contents kept": 1]),
    ]
    #if os(Linux)
      var fullDisk = Row(
        trial: FullDiskTrial.self, count: 6, seed: 5,
        least: ["rounds": 6, "times full": 1, "steps in memory only": 1, "came back": 6])
      // Mounting needs root; otherwise only the file-size limit is tested.
      if geteuid() == 0 { fullDisk.least["rounds on tmpfs"] = 1 }
      rows.append(fullDisk)
      // The sanitizers and the log of writes both replace functions of the C library.
      if !Sanitizer.address.isActive && !Sanitizer.thread.isActive {
        rows.append(
          Row(
            trial: PowerLossTrial.self, count: 60, seed: 11,
            least: [
              "images of .ordered": 1, "images of .full": 1, "images of .fast": 1, "discarded": 1, "holes": 1,
              "segments of values removed": 1, "opened with all that had to be there": 1,
            ]))
      }
    #endif
    return rows
  }()

  @Test(arguments: rows) func theCacheKeepsItsPromise(_ row: Row) throws {
    // Without symbolic links, since the trials compare paths.
    let directory = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appendingPathComponent("\(row.trial.name)-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let report = try row.trial.run(TrialSettings(count: row.count, seed: row.seed, directory: directory.path))
    for failure in report.failures { Issue.record("\(failure)") }
    for (name, least) in row.least { #expect(report[name] >= least, "\(name)") }
  }
}
