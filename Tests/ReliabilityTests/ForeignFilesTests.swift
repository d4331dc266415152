import Reliability
import Testing

@Suite struct ForeignFilesTests {
  @Test func nothingOfAUsersIsTouched() throws {
    let report = try shortTrial(ForeignFilesTrial.self, count: 12)
    #expect(report["rounds"] == 12)
    #expect(report["rounds"] > 0)
  }
}
