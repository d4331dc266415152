import Platform

/// Decides what the writer thread does next. Pure: it uses no thread, lock or clock, only the given times.
///
///     running ──close()──▶ closing ──next() says .end, end()──▶ ended
///
/// While running, failures delay commits increasingly. While closing, pending writes are committed once more and
/// accepted jobs are run. Once ended, nothing changes any more.
struct WriterMachine: ~Copyable {
  private enum Phase { case running, closing, ended }

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

  private var phase = Phase.running
  private var failure: CommitFailure?
  /// The monotonic time of the next check of files and dead processes.
  private var nextRound: Int64
  /// Whether a commit was made or failed since the last job, so that a job is next.
  private var owesJob = false
  /// Whether a commit was attempted since closing began.
  private var hasTriedSinceClosing = false

  init(now: Int64) { nextRound = now.addingClamped(Self.roundInterval) }

  var takesJobs: Bool { phase == .running }

  /// The state for the journal's users.
  var gate: JournalGate {
    switch phase {
    case .running: failure.map { .failing($0) } ?? .open
    case .closing: .closing(failure)
    case .ended: .ended(failure)
    }
  }

  /// - Parameter groupCommitInterval: Nanoseconds for which a write may wait to be committed with others.
  func next(_ situation: JournalSituation, now: Int64, groupCommitInterval: Int64) -> Action {
    switch phase {
    case .running: nextWhileRunning(situation, now, groupCommitInterval)
    case .closing: nextWhileClosing(situation)
    case .ended: .end
    }
  }

  private func nextWhileRunning(_ situation: JournalSituation, _ now: Int64, _ groupCommitInterval: Int64) -> Action {
    // Before a due commit: under constant load, a dead process's writes would otherwise never appear.
    if now >= nextRound { return .makeRounds }
    // In turn, because under load a commit may always be due. A job that requests a commit precedes it.
    if situation.hasJobs && owesJob { return .runJob }
    var deadline = nextRound
    if situation.isPending {
      if let failure, now < failure.retryAt {
        deadline = min(deadline, failure.retryAt)
      } else if isDue(situation, now, groupCommitInterval) {
        return .commit
      } else if let active = situation.active, !active.isEmpty {
        deadline = min(deadline, active.firstAppend.addingClamped(groupCommitInterval))
      }
    }
    if situation.hasJobs { return .runJob }
    // A manual clock does not move by itself, so check again regularly.
    return .wait(max(1, min(deadline - now, Self.roundInterval)))
  }

  private func nextWhileClosing(_ situation: JournalSituation) -> Action {
    // Once more, without a pause, unless out of service.
    let mayTry = failure.map { !hasTriedSinceClosing && $0.retryAt != .max } ?? true
    if situation.isPending && mayTry { return .commit }
    return situation.hasJobs ? .runJob : .end
  }

  private func isDue(_ situation: JournalSituation, _ now: Int64, _ interval: Int64) -> Bool {
    if situation.hasSealed { return true }
    guard let active = situation.active, !active.isEmpty else { return false }
    return active.isRequested || active.isQuarterFull || now >= active.firstAppend.addingClamped(interval)
  }

  /// Whether a commit is due, for a job that lets it go first.
  func isCommitDue(_ situation: JournalSituation, now: Int64, groupCommitInterval: Int64) -> Bool {
    switch phase {
    case .running:
      if let failure, now < failure.retryAt { return false }
      return situation.isPending && isDue(situation, now, groupCommitInterval)
    case .closing: return nextWhileClosing(situation) == .commit
    case .ended: return false
    }
  }

  // MARK: Events

  /// Returns the failure that has ended, if any.
  mutating func didCommit() -> CommitFailure? {
    if phase == .ended { return nil }
    owesJob = true
    return failure.take()
  }

  /// Returns whether it is the first failure in a row, to be logged.
  @discardableResult
  mutating func didFail(_ error: CacheError, now: Int64) -> Bool {
    if phase == .ended { return false }
    owesJob = true
    // Out of service: never retry.
    if failure?.retryAt == .max { return false }
    let attempts = (failure?.attempts ?? 0) + 1
    var pause = min(30_000_000_000, Int64(50_000_000) << min(attempts - 1, 10))
    // Waiting for the lock is a pause too, and it may become free at any moment.
    if error.code == .lockTimeout { pause = min(pause, 1_000_000_000) }
    failure = CommitFailure(error: error, attempts: attempts, retryAt: now.addingClamped(pause))
    hasTriedSinceClosing = true
    return attempts == 1
  }

  /// Stops all commits, because the database is damaged.
  mutating func takeOutOfService(_ error: CacheError) {
    if phase == .ended { return }
    failure = CommitFailure(error: error, attempts: (failure?.attempts ?? 0) + 1, retryAt: .max)
  }

  /// Retries the next commit at once, because the cause of a failure may be gone.
  mutating func forgetFailure() {
    if phase != .ended, failure?.retryAt != .max { failure = nil }
  }

  mutating func didRunJob() { owesJob = false }

  mutating func didMakeRounds(now: Int64) { nextRound = now.addingClamped(Self.roundInterval) }

  /// Accepts no more writes or jobs. Returns `false` if it was closing or ended already.
  mutating func close() -> Bool {
    guard phase == .running else { return false }
    phase = .closing
    hasTriedSinceClosing = false
    return true
  }

  mutating func end() { phase = .ended }
}
