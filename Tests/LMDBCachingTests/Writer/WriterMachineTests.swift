import TestSupport
import Testing

@testable import LMDBCaching

/// The writer thread's decisions, without a thread.
@Suite struct WriterMachineTests {
  static let second: Int64 = 1_000_000_000
  static let interval: Int64 = 10_000_000
  let error = CacheError(.noSpace, "full")

  static func active(
    isEmpty: Bool = false, isQuarterFull: Bool = false, isRequested: Bool = false, since firstAppend: Int64 = 0
  ) -> JournalSituation {
    JournalSituation(
      active: .init(
        isEmpty: isEmpty, isQuarterFull: isQuarterFull, isRequested: isRequested, firstAppend: firstAppend))
  }

  func next(_ machine: borrowing WriterMachine, _ situation: JournalSituation, at now: Int64) -> WriterMachine.Action {
    machine.next(situation, now: now, groupCommitInterval: Self.interval)
  }

  /// The commit failure that the gate reports; there must be one.
  func failing(_ gate: JournalGate) -> CommitFailure? {
    switch gate {
    case .failing(let failure), .ended(let failure?): return failure
    default:
      Issue.record("no failure: \(gate)")
      return nil
    }
  }

  // MARK: Running

  @Test(
    arguments: [
      // Nothing to do until the next round.
      (JournalSituation(), 0, .wait(second)),
      (active(isEmpty: true), 0, .wait(second)),
      // A write waits to be grouped, and is due at the end of its interval.
      (active(since: 100), 100, .wait(interval)),
      (active(since: 100), 99 + interval, .wait(1)),
      (active(since: 100), 100 + interval, .commit),
      (active(isRequested: true, since: 100), 100, .commit),
      (active(isQuarterFull: true, since: 100), 100, .commit),
      (JournalSituation(hasSealed: true), 0, .commit),
      // Commits run before jobs.
      (JournalSituation(hasSealed: true, hasJobs: true), 0, .commit),
      (JournalSituation(hasJobs: true), 0, .runJob),
      // A round runs before everything.
      (JournalSituation(hasSealed: true, hasJobs: true), second, .makeRounds),
      // A stopped or backward clock is checked again each second.
      (active(since: 500 * second), 100, .wait(second - 100)),
      // No overflow.
      (active(since: .max), 100, .wait(second - 100)),
      (active(since: .min), 100, .commit),
    ] as [(JournalSituation, Int64, WriterMachine.Action)])
  func whileRunning(_ situation: JournalSituation, _ now: Int64, _ expected: WriterMachine.Action) {
    let machine = WriterMachine(now: 0)
    let action = next(machine, situation, at: now)
    #expect(action == expected)
  }

  /// A steady stream of writes must not starve a trim.
  @Test func commitsAndJobsTakeTurns() {
    var machine = WriterMachine(now: 0)
    let busy = JournalSituation(hasSealed: true, hasJobs: true)
    var actions: [WriterMachine.Action] = []
    for _ in 0..<4 {
      let action = next(machine, busy, at: 0)
      actions.append(action)
      if action == .commit { _ = machine.didCommit() } else { machine.didRunJob() }
    }
    #expect(actions == [.commit, .runJob, .commit, .runJob])
    // A commit within a job takes no turn.
    _ = machine.didCommit()
    machine.didRunJob()
    let action = next(machine, busy, at: 0)
    #expect(action == .commit)
  }

  /// A long job yields to commits, even with a round due and other jobs waiting.
  @Test func aCommitIsDueWhateverElseThereIsToDo() {
    var machine = WriterMachine(now: 0)
    let now = 5 * Self.second
    let busy = JournalSituation(hasSealed: true, hasJobs: true)
    func isDue(_ machine: borrowing WriterMachine, _ situation: JournalSituation) -> Bool {
      machine.isCommitDue(situation, now: now, groupCommitInterval: Self.interval)
    }
    var found = [isDue(machine, busy), isDue(machine, Self.active(since: now)), isDue(machine, .init())]
    _ = machine.didCommit()
    found.append(isDue(machine, busy))
    machine.didFail(error, now: now)
    found.append(isDue(machine, busy))
    _ = machine.close()
    found.append(isDue(machine, busy))
    machine.end()
    found.append(isDue(machine, busy))
    #expect(found == [true, false, false, true, false, true, false])
  }

  // MARK: Failing

  @Test func failuresPutCommitsOffForAGrowingWhile() {
    var machine = WriterMachine(now: 0)
    let situation = JournalSituation(hasSealed: true)
    var now: Int64 = 0
    for (attempt, milliseconds) in [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]
      .enumerated()
    {
      let isFirst = machine.didFail(error, now: now)
      #expect(isFirst == (attempt == 0))
      let pause = Int64(milliseconds) * 1_000_000
      machine.didMakeRounds(now: now + pause)
      let before = next(machine, situation, at: now + pause - 1)
      #expect(before == .wait(1), "attempt \(attempt)")
      now += pause
      let after = next(machine, situation, at: now)
      #expect(after == .commit, "attempt \(attempt)")
      guard let failure = failing(machine.gate) else { return }
      #expect(failure.attempts == attempt + 1)
      #expect(failure.retryAt == now)
    }
    let recovered = machine.didCommit()
    #expect(recovered?.error.code == .noSpace)
    let isOpen = if case .open = machine.gate { true } else { false }
    let isFirstAgain = machine.didFail(error, now: now)
    #expect(isOpen && isFirstAgain)
  }

  /// A failing disk must not stop rounds and jobs.
  @Test func jobsRunWhileCommitsWait() {
    var machine = WriterMachine(now: 0)
    for _ in 0..<20 { machine.didFail(CacheError(.lockTimeout, "held"), now: 7) }
    // A lock is tried again within a second.
    guard let failure = failing(machine.gate) else { return }
    #expect(failure.retryAt == 7 + Self.second)
    let busy = JournalSituation(hasSealed: true, hasJobs: true)
    let (job, round) = (next(machine, busy, at: 1), next(machine, busy, at: Self.second))
    #expect(job == .runJob && round == .makeRounds)
    machine.forgetFailure()
    let commit = next(machine, JournalSituation(hasSealed: true), at: 1)
    #expect(commit == .commit, "A forgotten failure is tried at once.")
  }

  @Test func outOfServiceNothingIsCommitted() {
    var machine = WriterMachine(now: 0)
    machine.takeOutOfService(error)
    machine.didFail(error, now: 0)
    machine.forgetFailure()
    machine.didMakeRounds(now: Int64.max - 1)
    let action = next(machine, JournalSituation(hasSealed: true), at: Int64.max - 1)
    #expect(action == .wait(1))
    guard let failure = failing(machine.gate) else { return }
    #expect(failure.retryAt == .max)
    _ = machine.close()
    let closing = next(machine, JournalSituation(hasSealed: true), at: 0)
    #expect(closing == .end)
  }

  // MARK: Closing

  @Test func closingCommitsRunsJobsAndEnds() {
    var machine = WriterMachine(now: 0)
    let takesJobs = machine.takesJobs
    let (isFirst, isSecond) = (machine.close(), machine.close())
    let takesJobsAfterwards = machine.takesJobs
    #expect(takesJobs && isFirst && !isSecond && !takesJobsAfterwards)
    // Applies to commits that are not due yet, and before a round that is.
    let now = 9 * Self.second
    var actions = [next(machine, JournalSituation(active: .init(isEmpty: false), hasJobs: true), at: now)]
    _ = machine.didCommit()
    actions.append(next(machine, JournalSituation(hasJobs: true), at: now))
    actions.append(next(machine, JournalSituation(), at: now))
    machine.end()
    let endedWell = if case .ended(nil) = machine.gate { true } else { false }
    actions.append(next(machine, JournalSituation(hasSealed: true, hasJobs: true), at: 0))
    let again = machine.close()
    #expect(actions == [.commit, .runJob, .end, .end] && endedWell && !again)
  }

  @Test func closingTriesOnceMoreWhateverPauseThereWasToBe() {
    var machine = WriterMachine(now: 0)
    for _ in 0..<12 { machine.didFail(error, now: 0) }
    _ = machine.close()
    let once = next(machine, JournalSituation(hasSealed: true), at: 1)
    machine.didFail(error, now: 1)
    let twice = next(machine, JournalSituation(hasSealed: true), at: 2)
    #expect(once == .commit && twice == .end)
    machine.end()
    guard let failure = failing(machine.gate) else { return }
    #expect(failure.attempts == 13)
    // Later events do not change how it ended.
    let recovered = machine.didCommit()
    #expect(recovered == nil)
    machine.takeOutOfService(CacheError(.damagedDatabase, "late"))
    guard let last = failing(machine.gate) else { return }
    #expect(last.error.code == .noSpace)
  }

  // MARK: Any order

  /// Random events: it never waits past the next round or for a negative time, never commits nothing, and after closing
  /// makes at most one attempt per success.
  @Test(arguments: UInt64(1)...20) func anyOrderOfEvents(_ seed: UInt64) {
    var random = SeededRandom(seed)
    var machine = WriterMachine(now: 0)
    var (now, isClosed, attemptsSinceClose, hasEnded) = (Int64(0), false, 0, false)
    for _ in 0..<5_000 {
      now += Int64(random.below(100_000_000))
      let situation = JournalSituation(
        hasSealed: random.below(4) == 0,
        active: random.below(4) == 0
          ? nil
          : .init(
            isEmpty: random.below(2) == 0, isQuarterFull: random.below(8) == 0, isRequested: random.below(8) == 0,
            firstAppend: now - Int64(random.below(20_000_000))),
        hasJobs: random.below(3) == 0)
      switch next(machine, situation, at: now) {
      case .commit:
        #expect(situation.isPending && !hasEnded)
        if random.below(3) == 0 {
          machine.didFail(error, now: now)
          attemptsSinceClose += isClosed ? 1 : 0
        } else {
          _ = machine.didCommit()
          attemptsSinceClose = 0
        }
      case .makeRounds:
        #expect(!isClosed)
        machine.didMakeRounds(now: now)
      case .runJob: #expect(situation.hasJobs && !hasEnded)
      case .wait(let time): #expect(time > 0 && time <= WriterMachine.roundInterval && !isClosed)
      case .end:
        #expect(isClosed)
        if random.below(2) == 0 {
          machine.end()
          hasEnded = true
        }
      }
      #expect(attemptsSinceClose <= 1)
      if random.below(2_000) == 0 { isClosed = machine.close() || isClosed }
      if random.below(200) == 0 {
        machine.forgetFailure()
        attemptsSinceClose = 0
      }
    }
  }
}
