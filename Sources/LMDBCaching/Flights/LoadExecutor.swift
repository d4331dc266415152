import Platform

/// Runs the loads of threads beside their callers: those of the background, and those with a time limit.
///
/// They are tasks, so that they have the task-local values of their callers, such as the span that is a trace's parent.
/// They have threads of their own, since they may block: on Linux, Swift's pool and Dispatch's have about as many
/// threads as there are processors. A load may wait for another one, so the number of threads is not small.
final class LoadExecutor: TaskExecutor {
  private static let shared = LoadExecutor()
  private let threads = ThreadPool(name: "LMDB loads", maximumCount: 16_384)

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
    // Without a new thread it waits for one; Dispatch would make the caller wait.
    threads.run { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
