import Reliability
import Testing

@Suite struct ForgedMetadataTests {
  @Test func laterWritesAreKept() throws {
    let report = try shortTrial(ForgedMetadataTrial.self, count: 15)
    #expect(report["rounds"] == 15)
    #expect(report["rounds"] > 0)
  }
}
