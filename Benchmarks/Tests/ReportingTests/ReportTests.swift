import Foundation
import Testing

@testable import Reporting

@Suite struct ReportTests {
  @Test func hasTheDocumentedShape() throws {
    var measured = result(
      "memory.get.zipf", "LMDBCaching.MemoryCache", 40, threads: 2, Parameters(keys: 1000, capacity: 100))
    measured.readings = ["hitRatio": 0.75]
    let report = Report(
      machine: .current(libraries: ["LMDB": "0.9.24"]), isQuick: true,
      results: [measured, result("archive.encode", "JSONEncoder", 5, Parameters(content: "Int"))],
      goals: [
        Judgement(goal: "g", bound: .timeAtMost(0.7), measured: 0.5),
        Judgement(goal: "h", bound: .fasterAtLeast(15), measured: nil),
      ])
    let json = try #require(try JSONSerialization.jsonObject(with: report.json()) as? [String: Any])
    #expect(json["isQuick"] as? Bool == true)
    let machine = try #require(json["machine"] as? [String: Any])
    #expect((machine["processors"] as? Int ?? 0) > 0)
    #expect(machine["libraries"] as? [String: String] == ["LMDB": "0.9.24"])

    let results = try #require(json["results"] as? [[String: Any]])
    #expect(results.count == 2)
    #expect(results[0]["workload"] as? String == "memory.get.zipf")
    #expect(results[0]["subject"] as? String == "LMDBCaching.MemoryCache")
    #expect(results[0]["threads"] as? Int == 2)
    #expect(results[0]["nanosecondsPerOperation"] as? [String: Double] == ["min": 40, "median": 40])
    #expect(results[0]["runs"] as? Int == 3)
    #expect(results[0]["operationsPerRun"] as? Int == 100)
    #expect(results[0]["keys"] as? Int == 1000)
    #expect(results[0]["capacity"] as? Int == 100)
    #expect(results[0]["hitRatio"] as? Double == 0.75)
    // What does not apply is absent.
    #expect(results[1]["keys"] == nil)
    #expect(results[1]["content"] as? String == "Int")

    let goals = try #require(json["goals"] as? [[String: Any]])
    #expect(goals[0]["goal"] as? String == "g")
    #expect(goals[0]["asked"] as? String == "≤ 0.7 ×")
    #expect(goals[0]["measured"] as? Double == 0.5)
    #expect(goals[0]["isReached"] as? Bool == true)
    #expect(goals[1]["measured"] is NSNull)
    #expect(goals[1]["isReached"] as? Bool == false)
  }
}
