import Reliability
import Testing

@Suite struct ClockJumpsTests {
  @Test func nothingExpiredIsServedAndNothingElseIsLost() throws {
    let report = try shortTrial(ClockJumpsTrial.self, count: 6)
    #expect(report["rounds"] == 6)
    #expect(report["entries checked"] > 0)
  }
}
