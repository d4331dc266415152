import Foundation
import Reliability
import Testing

@Suite struct FullDiskTests {
  /// Mounting needs root and Linux; otherwise only the file-size limit is tested, as the figures show.
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
