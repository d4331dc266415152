import Testing

@testable import Reporting

@Suite struct RoundsTests {
  private let rounds = Rounds(least: 3, most: 9, budget: .milliseconds(500), total: .seconds(100))

  /// How many rounds of a length are done, after a preparation.
  private func done(_ round: Duration, preparation: Duration = .zero, share: Duration?) -> Int {
    var done = -1
    while rounds.goesOn(
      done: done, measuring: round * (done + 1), spent: preparation + round * (done + 1), share: share)
    {
      done += 1
    }
    return done
  }

  @Test func stopsAtTheMostOrWithTheBudget() {
    #expect(done(.milliseconds(1), share: .seconds(10)) == 9)
    #expect(done(.milliseconds(100), share: .seconds(10)) == 4)
    #expect(done(.milliseconds(100), share: nil) == 4)
    // The least is done, however long it takes.
    #expect(done(.seconds(2), share: nil) == 3)
  }

  @Test func aWorkloadThatHasUsedUpItsShareIsMeasuredOnce() {
    #expect(done(.seconds(2), share: .seconds(1)) == 1)
    #expect(done(.milliseconds(1), preparation: .seconds(20), share: .seconds(10)) == 1)
    #expect(done(.seconds(2), share: .seconds(5)) == 2)
  }

  @Test func whatIsLeftIsSharedEqually() {
    #expect(rounds.share(spent: .zero, workloads: 50) == .seconds(2))
    #expect(rounds.share(spent: .seconds(60), workloads: 4) == .seconds(10))
    #expect(rounds.share(spent: .seconds(120), workloads: 4) == .zero)
    #expect(Rounds(least: 1, most: 1, budget: .zero).share(spent: .zero, workloads: 1) == nil)
  }
}
