import Reliability
import Testing

@Suite struct UpdatesTests {
  @Test func noAdditionIsMissing() throws {
    let report = try shortTrial(UpdatesTrial.self, count: 100)
    #expect(report["kills"] >= 50)
    #expect(report["suspensions"] > 5)
    #expect(report["acknowledged additions"] > 50)
  }
}
