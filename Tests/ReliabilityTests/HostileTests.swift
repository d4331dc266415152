import Foundation
import Reliability
import Testing

/// Inputs changed with knowledge of their structure.
@Suite struct HostileTests {
  @Test(arguments: [UInt64(1)]) func changedInputsAreAnErrorOrAValue(_ seed: UInt64) throws {
    let report = try HostileTrial.run(TrialSettings(count: 7_000, seed: seed, directory: "/"))
    #expect(report.isPassed, "\(report.failures)")
    #expect(report["inputs"] == 7_000)
    for kind in UntrustedKind.allCases { #expect(report["\(kind.rawValue) read as good"] > 0) }
  }

  @Test(arguments: UntrustedKind.allCases) func whatTheEncodersMakeIsRead(_ kind: UntrustedKind) throws {
    for bytes in try kind.seeds() {
      let isRead = bytes.withUnsafeBytes { kind.check($0) }
      // One of the journals is empty.
      #expect(isRead || kind == .journal)
    }
  }
}
