import Reliability
import Testing

@Suite struct DeletionTests {
  @Test func bothProcessesEndUpInOneFile() throws {
    let report = try shortTrial(DeletionTrial.self, count: 4)
    #expect(report["rounds"] == 4)
    #expect(report["entries checked"] > 0)
  }
}
