import Testing

@testable import Reporting

@Suite struct GoalTests {
  @Test(arguments: [
    // Bound, own time, peer's time, threads, the figure, whether it is reached.
    (Bound.timeAtMost(0.7), 70.0, 100.0, 1, 0.7, true),
    (.timeAtMost(0.7), 71, 100, 1, 0.71, false),
    (.fasterAtLeast(20), 5, 100, 1, 20, true),
    (.fasterAtLeast(20), 10, 100, 1, 10, false),
    // Each thread needs as long as one alone did: twice the work.
    (.workAtLeast(1.7), 100, 100, 2, 2, true),
    (.workAtLeast(1.7), 200, 100, 2, 1, false),
    (.workAtLeast(1.6), 125, 100, 2, 1.6, true),
  ])
  func comparesAsItIsAsked(_ bound: Bound, _ own: Double, _ peer: Double, _ threads: Int, _ figure: Double, _ ok: Bool)
  {
    let goal = Goal(
      "a goal", bound, .init(workload: "w", subject: "own", threads: threads), of: .init(workload: "w", subject: "peer")
    ) { _ in true }
    let judgement = goal.judgement([result("w", "peer", peer), result("w", "own", own, threads: threads)])
    #expect(judgement?.measured == figure)
    #expect(judgement?.isReached == ok)
  }

  @Test(arguments: [(0.773, true), (0.77, false)]) func countsMisses(_ hitRatio: Double, _ isReached: Bool) throws {
    var own = result("w", "own", 1)
    let goal = Goal(
      "a goal", .missesAtMost(22.75), .init(workload: "w", subject: "own"), of: .init(workload: "w", subject: "peer")
    ) { _ in true }
    #expect(goal.judgement([own, result("w", "peer", 1)])?.measured == nil)
    own.readings = ["hitRatio": hitRatio]
    let judgement = try #require(goal.judgement([own, result("w", "peer", 1)]))
    #expect(judgement.isReached == isReached)
    #expect(try abs(#require(judgement.measured) - 100 * (1 - hitRatio)) < 1e-9)
  }

  @Test(arguments: [(0.7, 0.7, 1.0, true), (0.6, 0.7, 4.0 / 3, false), (0.8, 0.7, 2.0 / 3, true)])
  func comparesMissesWithThePeers(_ own: Double, _ peer: Double, _ figure: Double, _ isReached: Bool) throws {
    var results = [result("w", "own", 1), result("w", "peer", 1)]
    let goal = Goal(
      "a goal", .missesTimesAtMost(1.03), .init(workload: "w", subject: "own"),
      of: .init(workload: "w", subject: "peer")
    ) { _ in true }
    #expect(goal.judgement(results)?.measured == nil)
    results[0].readings = ["hitRatio": own]
    #expect(goal.judgement(results)?.measured == nil)
    results[1].readings = ["hitRatio": peer]
    let judgement = try #require(goal.judgement(results))
    #expect(judgement.isReached == isReached)
    #expect(try abs(#require(judgement.measured) - figure) < 1e-9)
    // A peer that misses nothing is no measure.
    results[1].readings = ["hitRatio": 1]
    #expect(goal.judgement(results)?.measured == nil)
  }

  /// No peer is asked for, nor taken for one where there is one.
  @Test(
    arguments: [
      (.nanosecondsAtMost(2_000), 1_990, 9, 1_990, true),
      (.nanosecondsAtMost(2_000), 2_001, 1, 2_001, false),
      (.readingAtMost(8, "megabytesLeft", unit: "MB"), 1, 8, 8, true),
      (.readingAtMost(8, "megabytesLeft", unit: "MB"), 1, 8.1, 8.1, false),
      (.readingAtMost(8, "anything", unit: "MB"), 1, 1, nil, false),
    ] as [(Bound, Double, Double, Double?, Bool)])
  func holdsTheSubjectAloneAgainstABound(
    _ bound: Bound, _ time: Double, _ reading: Double, _ figure: Double?, _ isReached: Bool
  ) throws {
    let goal = Goal("a goal", bound, .init(workload: "w", subject: "own")) { _ in true }
    #expect(goal.judgement([result("w", "another", 1)]) == nil)
    var own = result("w", "own", time)
    own.readings = ["megabytesLeft": reading]
    let judgement = try #require(goal.judgement([result("w", "another", 1), own]))
    #expect(judgement.measured == figure)
    #expect(judgement.isReached == isReached)
  }

  @Test func takesTheWorkloadTheThreadsAndTheParametersThatItNames() {
    let goal = Goal(
      "a goal", .timeAtMost(1), .init(workload: "w", subject: "s"), of: .init(workload: "w", subject: "peer")
    ) { $0.keys == 200 }
    let judgement = goal.judgement([
      result("other", "s", 1, Parameters(keys: 200)), result("w", "s", 2, Parameters(keys: 100)),
      result("w", "s", 3, threads: 2, Parameters(keys: 200)), result("w", "s", 4, Parameters(keys: 200)),
      result("w", "peer", 1000, Parameters(keys: 100)), result("w", "peer", 8, Parameters(keys: 200)),
    ])
    #expect(judgement?.measured == 0.5)
  }

  @Test func isNotReachedWhereOneOfTwoWasNotMeasuredAndNotMentionedWhereNoneWas() {
    let goal = Goal(
      "a goal", .timeAtMost(1), .init(workload: "w", subject: "own"), of: .init(workload: "w", subject: "peer")
    ) { _ in true }
    #expect(goal.judgement([]) == nil)
    let judgement = goal.judgement([result("w", "own", 1)])
    #expect(judgement == Judgement(goal: "a goal", bound: .timeAtMost(1), measured: nil))
    #expect(judgement?.isReached == false)
  }

  @Test func comparesMediansAndNotTheLeast() {
    let own = SubjectResult(
      workload: "w", subject: "own", threads: 1, parameters: Parameters(), times: [1, 90, 90], operationsPerRun: 1)
    let goal = Goal(
      "a goal", .timeAtMost(1), .init(workload: "w", subject: "own"), of: .init(workload: "w", subject: "peer")
    ) { _ in true }
    #expect(goal.judgement([own, result("w", "peer", 45)])?.measured == 2)
  }

  @Test func theTableSaysWhatWasAskedMeasuredAndReached() {
    let table = Judgement.table([
      Judgement(goal: "first", bound: .timeAtMost(0.7), measured: 0.65),
      Judgement(goal: "second", bound: .fasterAtLeast(200), measured: 150),
      Judgement(goal: "third", bound: .workAtLeast(1.7), measured: nil),
      Judgement(goal: "fourth", bound: .missesAtMost(22.5), measured: 21),
      Judgement(goal: "fifth", bound: .missesTimesAtMost(1.03), measured: 1.1),
      Judgement(goal: "sixth", bound: .nanosecondsAtMost(2_000), measured: 1_100),
      Judgement(goal: "seventh", bound: .nanosecondsAtMost(5e9), measured: 3.2e9),
      Judgement(goal: "eighth", bound: .readingAtMost(8, "megabytesLeft", unit: "MB left"), measured: 5.8),
    ])
    let lines = table.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      lines == [
        "Goals: 5 of 8 reached", "asked measured", "first ≤ 0.7 × 0.65 × reached",
        "second ≥ 200 × as fast 150 × missed", "third ≥ 1.7 × the work – not measured",
        "fourth ≤ 22.5 % misses 21 % reached", "fifth ≤ 1.03 × the misses 1.1 × missed",
        "sixth ≤ 2000 ns 1100 ns reached", "seventh ≤ 5 s 3.2 s reached", "eighth ≤ 8 MB left 5.8 MB left reached",
      ])
  }

  @Test func everyGoalHasANameOfItsOwn() {
    #expect(Set(Goal.all.map(\.name)).count == Goal.all.count)
  }
}
