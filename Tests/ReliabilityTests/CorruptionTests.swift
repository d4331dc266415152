import Foundation
import Reliability
import TestSupport
import Testing

/// The short form of the trial `corruption`.
@Suite struct CorruptionTests {
  @Test(arguments: [1 as UInt64]) func damagedFilesNeitherCrashNorLie(_ seed: UInt64) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("corruption-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let trial = try #require(Trials.all.first { $0.name == "corruption" })
    let report = try trial.run(TrialSettings(count: 36, seed: seed, directory: directory.path))
    #expect(report.isPassed, "\(report.failures)")
    #expect(report["rounds"] == 36)
    #expect(report["recoveries"] > 10)
    for kind in ["meta", "leaf", "freeList"] { #expect(report["\(kind) pages"] > 0) }
  }
}
