import Reliability
import Testing

@Suite struct HarnessTests {
  @Test func aReportCountsAndFails() {
    var report = TrialReport()
    report.count("rounds")
    report.count("reads", 3)
    report.count("rounds")
    #expect(report.figures.map(\.name) == ["rounds", "reads"])
    #expect(report["rounds"] == 2)
    #expect(report["nothing"] == 0)
    #expect(report.isPassed)
    for _ in 0..<200 { report.fail("lost") }
    #expect(!report.isPassed)
    #expect(report.failureCount == 200)
    #expect(report.failures.count == 100)
  }

  @Test func namesAreUnique() {
    #expect(Set(Trials.all.map { $0.name }).count == Trials.all.count)
    #expect(Set(Trials.roles.map { $0.name }).count == Trials.roles.count)
  }
}
