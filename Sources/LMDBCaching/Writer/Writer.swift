import LMDB
import Logging
import Platform
import Synchronization

/// The thread that makes all of this process's write transactions on a directory. LMDB's writer mutex must be taken and
/// released by one thread. ``WriterMachine`` decides what it does next, and ``Committer`` commits batches. The lock is
/// the journal's.
// Sendable: `machine` and `jobs` are accessed with the journal's lock held, `isCommitting` by the writer thread; the
// rest is constant.
final class Writer: @unchecked Sendable {
  let journal: Journal
  private let committer: Committer
  private let clock: CacheClock
  private let groupCommitInterval: Int64
  private let directoryName: String
  private let events: EventLog
  private let counters: DiskCounters

  private var machine: WriterMachine
  /// Oldest first.
  private var jobs: [@Sendable () -> Void] = []
  /// Writer thread only.
  private(set) var isCommitting = false
  /// Checks the files and dead processes, every second. Set once, before the thread starts.
  var makeRounds: @Sendable () -> Void = {}
  /// The last work of the thread. Set once.
  var finish: @Sendable () -> Void = {}

  private var lock: ConditionLock { journal.lock }

  init(
    _ journal: Journal, _ committer: Committer, groupCommitInterval: Int64, directoryName: String, events: EventLog,
    counters: DiskCounters
  ) {
    self.journal = journal
    self.committer = committer
    self.groupCommitInterval = groupCommitInterval
    self.directoryName = directoryName
    self.events = events
    self.counters = counters
    clock = journal.clock
    machine = WriterMachine(now: journal.clock.monotonic)
    journal.reportFailure = { [unowned self] error in
      self.events.log(
        .error, "cache cannot write its journal and goes on in memory",
        ["directory": "\(self.directoryName)", "error": "\(error)"])
    }
  }

  // MARK: The thread

  /// Starts the thread, which keeps this object alive.
  func start() throws(CacheError) {
    try calling("Starting the thread that writes the cache in \(directoryName)") {
      try PlatformThread.start(name: "lmdb-cache-writer") { [self] in run() }
    }
  }

  private func run() {
    journal.writerThread.store(PlatformThread.current, ordering: .releasing)
    lock.lock()
    while true {
      switch nextAction() {
      case .commit:
        commit()
      case .runJob:
        let job = jobs.removeFirst()
        lock.unlock()
        job()
        lock.lock()
        machine.didRunJob()
      case .makeRounds:
        lock.unlock()
        makeRounds()
        lock.lock()
        machine.didMakeRounds(now: clock.monotonic)
      case .wait(let nanoseconds):
        _ = lock.wait(for: .work, nanoseconds: nanoseconds)
      case .end:
        lock.unlock()
        finish()
        lock.lock()
        machine.end()
        publish()
        lock.unlock()
        return
      }
    }
  }

  private func nextAction() -> WriterMachine.Action {
    var situation = journal.situation
    situation.hasJobs = !jobs.isEmpty
    return machine.next(situation, now: clock.monotonic, groupCommitInterval: groupCommitInterval)
  }

  /// Publishes the machine's state. With the lock held.
  private func publish() {
    journal.state.gate = machine.gate
    lock.signalAll(.progress)
  }

  // MARK: Committing

  /// Commits the sealed segments, or the active one if there are none. Requires the lock, and releases it meanwhile.
  private func commit() {
    let batch = journal.beginCommit()
    lock.unlock()
    isCommitting = true
    let result = committer.commit(batch)
    isCommitting = false
    lock.lock()
    switch result {
    case .success(let report):
      journal.didCommit(batch, report)
      committer.didTakeBack(report)
      if let failure = machine.didCommit() {
        events.log(
          .notice, "cache commits again", ["directory": "\(directoryName)", "failedAttempts": "\(failure.attempts)"])
      }
    case .failure(let error):
      journal.didNotCommit()
      fail(error)
    }
    publish()
  }

  /// Makes due commits first, during long jobs. Writer thread, outside of transactions.
  func letCommitsGoFirst() {
    // A commit that makes room is already under way.
    if isCommitting { return }
    lock.lock()
    if machine.isCommitDue(journal.situation, now: clock.monotonic, groupCommitInterval: groupCommitInterval) {
      commit()
    }
    lock.unlock()
  }

  /// Commits pending writes, unless the last attempt failed. Writer thread.
  func commitWaiting() {
    // A commit under way already has the segments.
    if isCommitting { return }
    lock.lock()
    if journal.situation.isPending && journal.state.gate.failure == nil { commit() }
    lock.unlock()
  }

  // MARK: Failures

  /// Delays commits after a failure. Any thread, with the lock held.
  func note(_ error: CacheError) {
    fail(error)
    publish()
  }

  private func fail(_ error: CacheError) {
    counters.failedCommits.increment()
    guard machine.didFail(error, now: clock.monotonic) else { return }
    events.log(
      .error, "cache cannot commit and goes on in memory", ["directory": "\(directoryName)", "error": "\(error)"])
  }

  /// Stops all commits, because the database is damaged. Any thread.
  func takeOutOfService(_ error: CacheError) {
    lock.withLock {
      machine.takeOutOfService(error)
      publish()
    }
  }

  /// Retries the commit at once. Any thread.
  func forgetFailure() {
    lock.withLock {
      machine.forgetFailure()
      publish()
    }
  }

  /// Ends a failure while nothing is uncommitted, since no commit would end it. Any thread.
  func forgetFailureIfIdle() {
    lock.withLock {
      if journal.state.gate.failure == nil || journal.situation.isPending { return }
      machine.forgetFailure()
      publish()
    }
  }

  // MARK: Jobs

  /// Runs `job` on the writer thread, in turn with commits, and returns its result.
  func run<R: Sendable>(_ job: @escaping @Sendable () throws -> R) throws(CacheError) -> R {
    let activity = "Working on \(directoryName)"
    // A nested job runs as a part of its outer one.
    if journal.isWriterThread { return try calling(activity, job) }
    let box = JobResult<R>()
    lock.lock()
    guard machine.takesJobs else {
      lock.unlock()
      throw .closed
    }
    jobs.append { [lock] in
      let result = outcome { () throws(CacheError) in try calling(activity, job) }
      lock.withLock {
        box.result = result
        lock.signalAll(.progress)
      }
    }
    lock.signalAll(.work)
    while box.result == nil && !journal.state.gate.isEnded { lock.wait(for: .progress) }
    lock.unlock()
    return try (box.result ?? .failure(.closed)).get()
  }

  /// Runs `job` later on the writer thread, unless the store is closing.
  func enqueue(_ job: @escaping @Sendable () -> Void) {
    lock.withLock {
      guard machine.takesJobs else { return }
      jobs.append(job)
      lock.signalAll(.work)
    }
  }

  // Sendable: `result` is set once, under the journal's lock, and read under it, once set, or after the thread's end.
  private final class JobResult<R: Sendable>: @unchecked Sendable {
    var result: Result<R, CacheError>?
  }

  // MARK: Closing

  var isClosing: Bool { lock.withLock { !machine.takesJobs } }

  /// Ends the thread after committing pending writes; accepts no more. Returns the failure that prevented a commit.
  func close() -> CommitFailure? {
    lock.lock()
    defer { lock.unlock() }
    if machine.close() {
      publish()
      lock.signalAll(.work)
    }
    while !journal.state.gate.isEnded { lock.wait(for: .progress) }
    return journal.state.gate.failure
  }
}
