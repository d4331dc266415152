import Reliability
import Testing

@Suite struct LinearizabilityTests {
  @Test func aShortHistoryIsInOrder() throws {
    let report = try shortTrial(LinearizabilityTrial.self, count: 30_000)
    #expect(report["operations"] >= 30_000)
    #expect(report["reads"] > 10_000)
    #expect(report["writes"] > 1_000)
    #expect(report["processes"] >= 9)
    #expect(report["reads of what another process had overwritten"] > 0)
  }
}
