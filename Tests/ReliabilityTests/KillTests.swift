import Reliability
import Testing

@Suite struct KillTests {
  @Test func nothingAcknowledgedIsLost() throws {
    let report = try shortTrial(KillTrial.self, count: 15)
    #expect(report["kills"] >= 15)
    #expect(report["acknowledged writes"] > 100)
    #expect(report["entries compared"] > 10)
    #expect(report["reads meanwhile"] > 0)
  }
}
