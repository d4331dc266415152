import Platform

/// Runs the jobs of a task on one thread, so that synchronous code can wait for asynchronous functions.
///
/// It needs no thread of Swift's pool, all of which may be blocked in such waits. (On Linux, the pools of Swift and of
/// Dispatch have about as many threads as there are processors.)
package final class ThreadExecutor: TaskExecutor {
  private let lock = ConditionLock()
  // Both are accessed with the lock held.
  private nonisolated(unsafe) var jobs: [UnownedJob] = []
  private nonisolated(unsafe) var isOver = false

  /// Blocks the calling thread, which runs `body` with the caller's task-local values.
  func wait<R: Sendable, E: Error>(for body: @escaping @Sendable () async throws(E) -> R) throws(E) -> R {
    // Written before the executor ends, and read after that.
    nonisolated(unsafe) var result: Result<R, E>?
    Task(executorPreference: self) { [self] in
      do throws(E) { result = .success(try await body()) } catch { result = .failure(error) }
      end()
    }
    run()
    return try result!.get()
  }

  /// An executor with a thread of its own until ``end()``.
  static func ofNewThread() -> ThreadExecutor {
    let executor = ThreadExecutor()
    BackgroundQueue.start { executor.run() }
    return executor
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    lock.withLock {
      jobs.append(job)
      lock.signal(.work)
    }
  }

  /// Lets the thread return. To be called by the last job.
  func end() {
    lock.withLock {
      isOver = true
      lock.signal(.work)
    }
  }

  private func run() {
    while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  private func next() -> UnownedJob? {
    lock.withLock {
      while jobs.isEmpty, !isOver { lock.wait(for: .work) }
      return jobs.isEmpty ? nil : jobs.removeFirst()
    }
  }
}
