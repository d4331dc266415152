import Reliability
import Testing

@Suite struct SuspensionTests {
  @Test func nobodyHangsAndNothingAcknowledgedIsLost() throws {
    let report = try shortTrial(SuspensionTrial.self, count: 3)
    #expect(report["rounds"] == 3)
    #expect(report["entries checked"] > 0)
  }
}
