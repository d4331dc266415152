import Dispatch
import Platform

/// Where loads run beside their callers: those of the background, and those that have a time limit.
///
/// They are tasks, so that they have the task-local values of their callers, such as the span that is a trace's parent.
/// They run on threads of their own, since they may block: neither Swift's pool nor that of Dispatch, which on Linux has as
/// many threads as there are processors, is kept from other work by them. There are as many threads as loads, up to
/// ``maximumCount``; one that has had nothing to do for a while ends.
// Sendable: what changes is touched with the lock held only.
final class LoadExecutor: TaskExecutor, @unchecked Sendable {
  private static let shared = LoadExecutor()
  /// With more loads at a time the others wait.
  private static let maximumCount = 128
  private static let idleTime: Int64 = 5_000_000_000

  private let lock = ConditionLock()
  private var jobs: [UnownedJob] = []
  private var count = 0
  private var idleCount = 0

  private init() {}

  /// Runs `load`, which may block, with the caller's task-local values.
  static func run(_ load: @escaping @Sendable () -> Void) {
    Task(executorPreference: shared) { load() }
  }

  /// Whether the caller is in a task that another executor runs: Swift's pool, or an actor's.
  static var isOnPool: Bool {
    withUnsafeCurrentTask { task in
      guard let task else { return false }
      return task.unownedTaskExecutor != shared.asUnownedTaskExecutor()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let needsThread = lock.withLock {
      jobs.append(job)
      if idleCount >= jobs.count {
        lock.signalAll(.work)
        return false
      }
      if count == Self.maximumCount { return false }
      count += 1
      return true
    }
    if needsThread { startThread() }
  }

  private func startThread() {
    do throws(SystemError) {
      try PlatformThread.start(name: "LMDB loads") { [self] in runJobs() }
    } catch {
      // As many threads as the system allows: Dispatch may have one to spare.
      DispatchQueue.global().async { [self] in runJobs() }
    }
  }

  /// What a thread does until there is nothing to do.
  private func runJobs() {
    while let job = nextJob() { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  private func nextJob() -> UnownedJob? {
    lock.withLock {
      idleCount += 1
      defer { idleCount -= 1 }
      var hasTime = true
      while jobs.isEmpty, hasTime { hasTime = lock.wait(for: .work, nanoseconds: Self.idleTime) }
      if jobs.isEmpty {
        count -= 1
        return nil
      }
      return jobs.removeFirst()
    }
  }
}
