import Foundation
import Reliability
import TestSupport
import Testing

@Suite struct PowerLossTests {
  /// Interposing functions works only on Linux.
  static let isLinux: Bool = {
    #if os(Linux)
      true
    #else
      false
    #endif
  }()

  static let isSanitized = Sanitizer.address.isActive || Sanitizer.thread.isActive

  @Test(
    .enabled(if: isLinux),
    .disabled(if: isSanitized, "the log of writes and the sanitizers both stand in for the C library's functions"))
  func nothingIsMixedOrLostAfterAPowerCut() throws {
    let directory = try Scratch()
    let report = try PowerLossTrial.run(TrialSettings(count: 60, seed: 11, directory: directory.path))
    #expect(report.isPassed, "\(report.failures.prefix(5))")
    for durability in ["ordered", "full", "fast"] { #expect(report["images of .\(durability)"] > 0) }
    #expect(report["images"] == 60)
    #expect(report["writes acknowledged"] > 0)
    #expect(report["opened with all that had to be there"] > 0)
    #expect(report["discarded"] > 0)
    #expect(report["holes"] > 0)
    #expect(report["segments of values removed"] > 0)
  }
}
