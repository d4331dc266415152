import Foundation
import Reliability
import Testing

/// The short form of the trial.
@Suite struct FullDiskTests {
  /// Mounting takes root and Linux; without them the limit of file sizes stays, and says so in the figures.
  @Test(.enabled(if: PowerLossTests.isLinux)) func aFullDiskIsOutlived() throws {
    let directory = try Scratch()
    let report = try FullDiskTrial.run(TrialSettings(count: 6, seed: 5, directory: directory.path))
    #expect(report.isPassed, "\(report.failures.prefix(5))")
    #expect(report["rounds"] == 6)
    #expect(report["times full"] > 0)
    #expect(report["steps in memory only"] > 0)
    #expect(report["came back"] == 6)
    #expect(report["rounds on tmpfs"] > 0 || geteuid() != 0)
  }
}
