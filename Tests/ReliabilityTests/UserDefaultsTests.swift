import Reliability
import Testing

@Suite struct UserDefaultsTests {
  @Test func anExitLosesNothingAndAKillTheLastSetAtMost() throws {
    let report = try shortTrial(UserDefaultsTrial.self, count: 12)
    #expect(report["exits"] > 0 && report["kills"] > 0)
    #expect(report["exits"] + report["kills"] == 12)
    #expect(report["contents kept"] >= report["exits"])
  }
}
