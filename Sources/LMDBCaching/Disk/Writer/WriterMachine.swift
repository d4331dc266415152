import Platform

/// Decides what the writer thread does next. Pure: it knows no thread, no lock and no clock but the times it is given.
///
///     running ──close()──▶ closing ──next() says .end, end()──▶ ended
///
/// While it is running, failures put commits off for a growing while. While it is closing, what waits is committed once
/// more, jobs that were accepted are run, and then it ends, with the failure if there is one.
enum WriterMachine: ~Copyable {
  case running(Schedule)
  case closing(Schedule)
  case ended(CommitFailure?)

  struct Schedule {
    var failure: CommitFailure?
    /// When to look after the files and after processes that died, on the monotonic clock.
    var nextRound: Int64
    /// Whether a commit was made, or has failed, since the last job: it is a job's turn.
    var owesJob = false
    /// Whether a commit was attempted since closing began.
    var hasTriedSinceClosing = false
  }

  enum Action: Equatable {
    case commit
    case runJob
    /// Look after the files and after processes that died.
    case makeRounds
    /// Sleep for so many nanoseconds, or until there is work.
    case wait(Int64)
    case end
  }

  /// Nanoseconds from one round to the next.
  static let roundInterval: Int64 = 1_000_000_000

  init(now: Int64) { self = .running(Schedule(nextRound: now.addingClamped(Self.roundInterval))) }

  // MARK: Events

  /// What to do now.
  ///
  /// - Parameter groupCommitInterval: How long a write may wait for others to be committed with it, in nanoseconds.
  borrowing func next(_ situation: JournalSituation, now: Int64, groupCommitInterval: Int64) -> Action {
    switch self {
    case .running(let schedule): Self.nextWhileRunning(schedule, situation, now, groupCommitInterval)
    case .closing(let schedule): Self.nextWhileClosing(schedule, situation, now)
    case .ended: .end
    }
  }

  private static func nextWhileRunning(
    _ schedule: Schedule, _ situation: JournalSituation, _ now: Int64, _ groupCommitInterval: Int64
  ) -> Action {
    // Before a commit that is due: where one always is, the writes of a process that died would never be seen.
    if now >= schedule.nextRound { return .makeRounds }
    // In turn, since with a stream of writes a commit may always be due. A job that asks for a commit is followed by it.
    if situation.hasJobs && schedule.owesJob { return .runJob }
    var deadline = schedule.nextRound
    if situation.isPending && situation.canCommit {
      if let failure = schedule.failure, now < failure.retryAt {
        deadline = min(deadline, failure.retryAt)
      } else if isCommitDue(situation, now, groupCommitInterval) {
        return .commit
      } else if let active = situation.active, !active.isEmpty {
        deadline = min(deadline, active.firstAppend.addingClamped(groupCommitInterval))
      }
    }
    if situation.hasJobs { return .runJob }
    // A manual clock does not move by itself: look again now and then.
    return .wait(max(1, min(deadline - now, roundInterval)))
  }

  /// Whether a commit is due, whatever else there is to do: for a job that lets it go first.
  borrowing func isCommitDue(_ situation: JournalSituation, now: Int64, groupCommitInterval: Int64) -> Bool {
    switch self {
    case .running(let schedule):
      if let failure = schedule.failure, now < failure.retryAt { return false }
      return situation.isPending && situation.canCommit && Self.isCommitDue(situation, now, groupCommitInterval)
    case .closing(let schedule): return Self.nextWhileClosing(schedule, situation, now) == .commit
    case .ended: return false
    }
  }

  private static func nextWhileClosing(_ schedule: Schedule, _ situation: JournalSituation, _ now: Int64) -> Action {
    // Once more, whatever pause there was to be, unless nothing is committed any more.
    let mayTry = schedule.failure.map { !schedule.hasTriedSinceClosing && $0.retryAt != .max } ?? true
    if situation.isPending && situation.canCommit && mayTry { return .commit }
    return situation.hasJobs ? .runJob : .end
  }

  private static func isCommitDue(_ situation: JournalSituation, _ now: Int64, _ interval: Int64) -> Bool {
    if situation.hasSealed || situation.hidesKeys { return true }
    guard let active = situation.active, !active.isEmpty else { return false }
    return active.isRequested || active.isQuarterFull || now >= active.firstAppend.addingClamped(interval)
  }

  /// Returns the failure that is over, if there was one.
  mutating func didCommit() -> CommitFailure? {
    update { schedule in
      schedule.owesJob = true
      defer { schedule.failure = nil }
      return schedule.failure
    } ?? nil
  }

  /// Returns whether it is the first failure in a row, which is worth telling.
  @discardableResult
  mutating func didFail(_ error: CacheError, now: Int64) -> Bool {
    update { schedule in
      schedule.owesJob = true
      let attempts = (schedule.failure?.attempts ?? 0) + 1
      // Out of service: there is nothing to try again.
      if schedule.failure?.retryAt == .max { return false }
      // 50 ms, 100 ms, … 30 s.
      var pause = min(30_000_000_000, Int64(50_000_000) << min(attempts - 1, 10))
      // Waiting for the lock is a pause too, and its owner may go on at any moment.
      if error.code == .lockTimeout { pause = min(pause, 1_000_000_000) }
      schedule.failure = CommitFailure(error: error, attempts: attempts, retryAt: now.addingClamped(pause))
      schedule.hasTriedSinceClosing = true
      return attempts == 1
    } ?? false
  }

  /// Nothing is committed any more: the database is damaged.
  mutating func takeOutOfService(_ error: CacheError) {
    update { $0.failure = CommitFailure(error: error, attempts: ($0.failure?.attempts ?? 0) + 1, retryAt: .max) }
  }

  /// The cause of a failure may be gone: the next commit is tried at once.
  mutating func forgetFailure() {
    update { if $0.failure?.retryAt != .max { $0.failure = nil } }
  }

  mutating func didRunJob() { update { $0.owesJob = false } }

  mutating func didMakeRounds(now: Int64) {
    update { $0.nextRound = now.addingClamped(Self.roundInterval) }
  }

  /// No more writes and jobs are taken. Returns false if it was closing or ended already.
  mutating func close() -> Bool {
    switch consume self {
    case .running(var schedule):
      schedule.hasTriedSinceClosing = false
      self = .closing(schedule)
      return true
    case .closing(let schedule):
      self = .closing(schedule)
      return false
    case .ended(let failure):
      self = .ended(failure)
      return false
    }
  }

  /// The thread ends, or there was none.
  mutating func end() {
    switch consume self {
    case .running(let schedule): self = .ended(schedule.failure)
    case .closing(let schedule): self = .ended(schedule.failure)
    case .ended(let failure): self = .ended(failure)
    }
  }

  // MARK: What others see

  var gate: JournalGate {
    switch self {
    case .running(let schedule): if let failure = schedule.failure { .failing(failure) } else { .open }
    case .closing(let schedule): .closing(schedule.failure)
    case .ended(let failure): .ended(failure)
    }
  }

  var takesJobs: Bool {
    switch self {
    case .running: true
    case .closing: false
    case .ended: false
    }
  }

  @discardableResult
  private mutating func update<R>(_ body: (inout Schedule) -> R) -> R? {
    switch consume self {
    case .running(var schedule):
      let result = body(&schedule)
      self = .running(schedule)
      return result
    case .closing(var schedule):
      let result = body(&schedule)
      self = .closing(schedule)
      return result
    case .ended(let failure):
      self = .ended(failure)
      return nil
    }
  }
}
