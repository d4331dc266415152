import Foundation
import LMDB
import Logging
import Synchronization

extension DiskStore {
  /// How often the writer thread looks for journals of processes that died, and whether the files are still in their
  /// places, in nanoseconds.
  static let peerScanInterval: Int64 = 1_000_000_000

  /// Starts the one thread that makes every write transaction of this process on this directory.
  ///
  /// A thread of its own, since LMDB's writer mutex has to be taken and released by one thread. It keeps the
  /// store alive until ``finish()`` has ended it.
  func startWriter() {
    let thread = Thread { [self] in runWriter() }
    thread.name = "lmdb-cache-writer"
    thread.qualityOfService = .utility
    thread.start()
  }

  private func runWriter() {
    var nextScan = clock.monotonic + Self.peerScanInterval
    var lastID = environment.lastPosition()
    var markedID = lastID
    lock.lock()
    while true {
      switch nextAction(nextScan: nextScan) {
      case .commit:
        commitSealed()
      case .job:
        let job = state.jobs.removeFirst()
        lock.unlock()
        job()
        lock.lock()
      case .scanForPeers:
        lock.unlock()
        checkPlace()
        takeOverFromDeadPeers(isOpening: false)
        synchronizeReplacedFiles()
        markIfIdle(since: &lastID, marked: &markedID)
        nextScan = clock.monotonic + Self.peerScanInterval
        lock.lock()
      case .wait(let nanoseconds):
        _ = lock.wait(for: .work, nanoseconds: nanoseconds)
      case .stop:
        lock.unlock()
        synchronizeReplacedFiles()
        lock.lock()
        state.isClosed = true
        lock.signalAll(.progress)
        lock.unlock()
        return
      }
    }
  }

  /// Commits the sealed segments, or the active one when a write has sealed none. With the lock held, which is
  /// released meanwhile.
  private func commitSealed() {
    if state.sealed.isEmpty && !state.spare.isEmpty { seal() }
    let batch = CommitBatch(
      segments: state.sealed, unrecorded: state.unrecorded, isComplete: state.active.map(\.isEmpty) ?? true,
      journal: state.journal?.identifier)
    state.committingNumber = batch.segments.last?.number ?? state.committingNumber
    lock.unlock()
    isCommitting = true
    let result = commit(batch)
    isCommitting = false
    lock.lock()
    didCommit(batch, result)
  }

  /// For long jobs: lets what writers wait for go first. On the writer thread.
  func commitIfDue() {
    // A commit that makes room is under way already.
    if isCommitting { return }
    lock.lock()
    if case .commit = nextAction(nextScan: .max) { commitSealed() }
    lock.unlock()
  }

  /// Commits what waits, unless that failed last. On the writer thread.
  func commitWaiting() {
    lock.lock()
    let hasFrames = !state.sealed.isEmpty || state.active.map { !$0.isEmpty } ?? false
    if hasFrames && state.failure == nil && canSealOrCommit { commitSealed() }
    lock.unlock()
  }

  private enum Action {
    case commit
    case job
    case scanForPeers
    case wait(Int64)
    case stop
  }

  /// With the lock held.
  private func nextAction(nextScan: Int64) -> Action {
    let now = clock.monotonic
    // Before a commit that is due: where one always is, the writes of a process that died would never be seen.
    if now >= nextScan && !state.isStopping { return .scanForPeers }
    var deadline = nextScan
    let hasFrames = !state.sealed.isEmpty || state.active.map { !$0.isEmpty } ?? false || !state.unrecorded.isEmpty
    if hasFrames {
      if let failure = state.failure, now < failure.retryAt {
        if state.isStopping { return stopping(orElse: .stop) }
        deadline = min(deadline, failure.retryAt)
      } else if state.failure != nil && state.isStopping && state.failure!.attempts > 1 {
        return stopping(orElse: .stop)
      } else if isCommitDue(now) {
        return .commit
      } else if let active = state.active {
        deadline = min(deadline, active.firstAppend + groupCommitNanoseconds)
      }
    }
    if !state.jobs.isEmpty { return .job }
    if state.isStopping { return .stop }
    // A manual clock does not move by itself: look again now and then.
    return .wait(max(1, min(deadline - now, Self.peerScanInterval)))
  }

  private func stopping(orElse action: Action) -> Action { state.jobs.isEmpty ? action : .job }

  private func isCommitDue(_ now: Int64) -> Bool {
    if !state.sealed.isEmpty || state.isStopping || !state.unrecorded.isEmpty { return canSealOrCommit }
    guard let active = state.active, !active.isEmpty else { return false }
    return state.requestedNumber >= active.number || active.used >= active.capacity / 4
      || now >= active.firstAppend + groupCommitNanoseconds
  }

  /// Without a journal, when making it has failed, there is no segment to seal, but stale entries can be removed.
  private var canSealOrCommit: Bool { !state.sealed.isEmpty || !state.spare.isEmpty || state.active == nil }

  /// Takes the segments back, or notes the failure. With the lock held.
  private func didCommit(_ batch: CommitBatch, _ result: Result<CommitReport, CacheError>) {
    committingTransaction.store(0, ordering: .releasing)
    switch result {
    case .success(let report):
      state.sealed.removeFirst(batch.segments.count)
      for segment in batch.segments {
        state.committedNumber = max(state.committedNumber, segment.number)
        // One of a journal whose file was deleted goes, and with the last one its map.
        if let map = segment.map, map === state.journal?.map {
          segment.reset()
          state.spare.append(segment)
        }
      }
      if let failure = state.failure {
        logger.notice(
          "cache commits again",
          metadata: ["directory": "\(directory)", "failedAttempts": "\(failure.attempts)"])
      }
      state.failure = nil
      // Older writes that wait in the active segment are still to be hidden.
      if batch.isComplete { state.unrecorded.subtract(batch.unrecorded) }
      // Memory tiers have what this transaction left out: they must not find it in the segments any more.
      if report.isPartial { tracker.invalidate() }
      let isEmpty = state.sealed.isEmpty && state.active.map(\.isEmpty) ?? true && state.unrecorded.isEmpty
      if isEmpty { hasPending.store(false, ordering: .releasing) }
    case .failure(let error):
      noteFailure(error)
    }
    lock.signalAll(.progress)
  }

  /// With the lock held.
  func noteFailure(_ error: CacheError) {
    counters.failedCommits.increment()
    let attempts = (state.failure?.attempts ?? 0) + 1
    // 50 ms, 100 ms, … 30 s.
    var pause = min(30_000_000_000, Int64(50_000_000) << min(attempts - 1, 10))
    // Waiting for the lock is a pause too, and its owner may go on at any moment.
    if error.code == .lockTimeout { pause = min(pause, 1_000_000_000) }
    state.failure = CommitFailure(error: error, attempts: attempts, retryAt: clock.monotonic + pause)
    if attempts == 1 {
      logger.error(
        "cache cannot commit and goes on in memory",
        metadata: ["directory": "\(directory)", "error": "\(error)"])
    }
  }

  /// Runs `job` on the writer thread, in turn with commits, and returns what it returns.
  func onWriterThread<R: Sendable>(
    _ job: @escaping @Sendable () -> Result<R, CacheError>
  ) throws(CacheError) -> R {
    let box = JobResult<R>()
    lock.lock()
    if state.isStopping {
      lock.unlock()
      throw .closed
    }
    state.jobs.append { [lock] in
      let result = job()
      lock.withLock {
        box.result = result
        lock.signalAll(.progress)
      }
    }
    lock.signalAll(.work)
    while box.result == nil && !state.isClosed { lock.wait(for: .progress) }
    lock.unlock()
    return try (box.result ?? .failure(.closed)).get()
  }

  /// The same without waiting; dropped when the store is closing.
  func enqueueOnWriterThread(_ job: @escaping @Sendable () -> Void) {
    lock.withLock {
      if state.isStopping { return }
      state.jobs.append(job)
      lock.signalAll(.work)
    }
  }

  // Sendable: `result` is written and read with the store's lock held, or after the writer thread has ended.
  private final class JobResult<R: Sendable>: @unchecked Sendable {
    var result: Result<R, CacheError>?
  }

  /// Waits for the writer thread's end, then closes the files.
  func finish() throws(CacheError) {
    lock.lock()
    while !state.isClosed { lock.wait(for: .progress) }
    let failure = state.failure
    // The journal's segments go before its map.
    state.active = nil
    state.spare = []
    state.sealed = []
    let observers = state.observers
    state.observers = []
    let journalPath = state.journal?.path
    state.journal = nil
    lock.unlock()
    for observer in observers { observer.storeWillClose() }
    defer { environment.close() }
    if durability == .fast, failure == nil { try endFastSession() }
    if failure == nil { markCleanExit() }
    try calling("Closing the cache in \(directory)") { () throws(SystemError) in
      try place.withLock { $0.processLock }.unlock()
      // With writes that could not be committed the journal stays: the next to open the directory replays it.
      if let journalPath, failure == nil { try Directory.removeFile(journalPath) }
    }
    if let failure {
      throw CacheError(
        .notCommitted,
        "The cache in \(directory) was closed with writes that could not be committed; they are in its journal and "
          + "are replayed when it is opened again.", underlying: failure.error)
    }
  }

  /// The last process to close a cache that is never synchronized does so now, so that it can be believed later.
  private func endFastSession() throws(CacheError) {
    let isOnlyOwner = try calling("Closing the cache in \(directory)") { () throws(SystemError) in
      try place.withLock { $0.processLock }.tryOwn()
    }
    guard isOnlyOwner else { return }
    try storing("Synchronizing \(directory)") { () throws(LMDBError) in try environment.sync(force: true) }
    try calling("Closing the cache in \(directory)") { () throws(SystemError) in
      // The database, its name, the value files of all processes: all of it is believed from now on.
      try Directory.synchronizeVolume(of: directory)
      try FastSession.end(directory)
    }
  }
}
