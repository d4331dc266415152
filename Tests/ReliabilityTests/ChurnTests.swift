import Reliability
import Testing

@Suite struct ChurnTests {
  @Test func theFileStaysWithinItsBound() throws {
    let report = try shortTrial(ChurnTrial.self, count: 30_000)
    #expect(report["replacements"] >= 30_000)
    #expect(report["readers that lingered"] == 2)
    #expect(report["readers killed in a snapshot"] == 8)
    #expect(report["commits"] > 0)
  }
}
