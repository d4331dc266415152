import Platform

/// Decides what the writer thread does next. Pure: it uses no thread, lock or clock, only the given times.
///
///     running ──close()──▶ closing ──next() says .end, end()──▶ ended
///
/// While running, failures delay commits increasingly. While closing, pending writes are committed once more and
/// accepted jobs are run.
enum WriterMachine: ~Copyable {
  case running(Schedule)
  case closing(Schedule)
  case ended(CommitFailure?)

  struct Schedule {
    var failure: CommitFailure?
    /// The monotonic time of the next check of files and dead processes.
    var nextRound: Int64
    /// Whether a commit was made or failed since the last job, so that a job is next.
    var owesJob = false
    /// Whether a commit was attempted since closing began.
    var hasTriedSinceClosing = false
  }

  enum Action: Equatable {
    case commit
    case runJob
    /// Check the files and dead processes.
    case makeRounds
    /// Sleep for up to this many nanoseconds, or until there is work.
    case wait(Int64)
    case end
  }

  /// In nanoseconds.
  static let roundInterval: Int64 = 1_000_000_000

  init(now: Int64) { self = .running(Schedule(nextRound: now.addingClamped(Self.roundInterval))) }

  // MARK: Events

  /// - Parameter groupCommitInterval: Nanoseconds for which a write may wait to be committed with others.
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
    // Before a due commit: under constant load, a dead process's writes would otherwise never appear.
    if now >= schedule.nextRound { return .makeRounds }
    // In turn, because under load a commit may always be due. A job that requests a commit precedes it.
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
    // A manual clock does not move by itself, so check again regularly.
    return .wait(max(1, min(deadline - now, roundInterval)))
  }

  /// Whether a commit is due, for a job that lets it go first.
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
    // Once more, without a pause, unless out of service.
    let mayTry = schedule.failure.map { !schedule.hasTriedSinceClosing && $0.retryAt != .max } ?? true
    if situation.isPending && situation.canCommit && mayTry { return .commit }
    return situation.hasJobs ? .runJob : .end
  }

  private static func isCommitDue(_ situation: JournalSituation, _ now: Int64, _ interval: Int64) -> Bool {
    if situation.hasSealed || situation.hidesKeys { return true }
    guard let active = situation.active, !active.isEmpty else { return false }
    return active.isRequested || active.isQuarterFull || now >= active.firstAppend.addingClamped(interval)
  }

  /// Returns the failure that has ended, if any.
  mutating func didCommit() -> CommitFailure? {
    update { schedule in
      schedule.owesJob = true
      defer { schedule.failure = nil }
      return schedule.failure
    } ?? nil
  }

  /// Returns whether it is the first failure in a row, to be logged.
  @discardableResult
  mutating func didFail(_ error: CacheError, now: Int64) -> Bool {
    update { schedule in
      schedule.owesJob = true
      let attempts = (schedule.failure?.attempts ?? 0) + 1
      // Out of service: never retry.
      if schedule.failure?.retryAt == .max { return false }
      var pause = min(30_000_000_000, Int64(50_000_000) << min(attempts - 1, 10))
      // Waiting for the lock is a pause too, and it may become free at any moment.
      if error.code == .lockTimeout { pause = min(pause, 1_000_000_000) }
      schedule.failure = CommitFailure(error: error, attempts: attempts, retryAt: now.addingClamped(pause))
      schedule.hasTriedSinceClosing = true
      return attempts == 1
    } ?? false
  }

  /// Stops all commits, because the database is damaged.
  mutating func takeOutOfService(_ error: CacheError) {
    update { $0.failure = CommitFailure(error: error, attempts: ($0.failure?.attempts ?? 0) + 1, retryAt: .max) }
  }

  /// Retries the next commit at once, because the cause of a failure may be gone.
  mutating func forgetFailure() {
    update { if $0.failure?.retryAt != .max { $0.failure = nil } }
  }

  mutating func didRunJob() { update { $0.owesJob = false } }

  mutating func didMakeRounds(now: Int64) {
    update { $0.nextRound = now.addingClamped(Self.roundInterval) }
  }

  /// Accepts no more writes or jobs. Returns `false` if it was closing or ended already.
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
