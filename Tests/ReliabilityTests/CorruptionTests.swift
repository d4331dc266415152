import Foundation
import Reliability
import TestSupport
import Testing

@Suite struct CorruptionTests {
  @Test(arguments: [1 as UInt64]) func damagedFilesNeitherCrashNorLie(_ seed: UInt64) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("corruption-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let trial = try #require(Trials.all.first { $0.name == "corruption" })
    let report = try trial.run(TrialSettings(count: 42, seed: seed, directory: directory.path))
    #expect(report.isPassed, "\(report.failures)")
    #expect(report["rounds"] == 42)
    #expect(report["recoveries"] > 8)
    for place in ["meta pages", "leaf pages", "freeList pages", "values", "journals"] { #expect(report[place] > 0) }
  }
}
