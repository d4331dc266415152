import Reliability
import Testing

@Suite struct LifeCycleTests {
  @Test func nothingThatWasToldIsMissing() throws {
    let report = try shortTrial(LifeCycleTrial.self, count: 3)
    #expect(report["rounds"] == 3)
    #expect(report["openings"] > 0)
  }
}
