import Platform
import Synchronization

/// Runs the jobs of a task on one thread, so that synchronous code can wait for asynchronous functions.
///
/// It needs no thread of Swift's pool, all of which may be blocked in such waits. (On Linux, the pools of Swift and of
/// Dispatch have about as many threads as there are processors.)
// Unchecked: what varies is accessed with the lock held.
package final class ThreadExecutor: TaskExecutor, @unchecked Sendable {
  private let lock = ConditionLock()
  private var jobs: [UnownedJob] = []
  private var alarms: [Alarm] = []
  private var isOver = false

  /// A limit of a wait, which the waiting thread keeps itself: no other thread need be free.
  final class Alarm: Sendable {
    /// Monotonic nanoseconds.
    fileprivate let time: Int64
    fileprivate let ring: @Sendable () -> Void

    fileprivate init(_ time: Int64, _ ring: @escaping @Sendable () -> Void) { (self.time, self.ring) = (time, ring) }
  }

  private enum Step { case job(UnownedJob), alarm(Alarm) }

  /// Blocks the calling thread, which runs `body` with the caller's task-local values.
  func wait<R: Sendable, E: Error>(for body: @escaping @Sendable () async throws(E) -> R) throws(E) -> R {
    let result = Mutex<Result<R, E>?>(nil)
    Task(executorPreference: self) { [self] in
      let value: Result<R, E>
      do throws(E) { value = .success(try await body()) } catch { value = .failure(error) }
      result.withLock { $0 = value }
      end()
    }
    run()
    return try result.withLock { $0! }.get()
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

  /// Has the thread call `ring` after a while, unless ``clear(_:)`` is called before. To be called on that thread.
  func setAlarm(after limit: Duration, _ ring: @escaping @Sendable () -> Void) -> Alarm {
    let alarm = Alarm(MonotonicClock.nanoseconds.addingClamped(limit.clampedNanoseconds), ring)
    lock.withLock { alarms.append(alarm) }
    return alarm
  }

  func clear(_ alarm: Alarm) { lock.withLock { alarms.removeAll { $0 === alarm } } }

  private func run() {
    while let step = next() {
      switch step {
      case .job(let job): unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      case .alarm(let alarm): alarm.ring()
      }
    }
  }

  private func next() -> Step? {
    lock.withLock {
      while jobs.isEmpty, !isOver {
        guard let alarm = alarms.min(by: { $0.time < $1.time }) else {
          lock.wait(for: .work)
          continue
        }
        let rest = alarm.time - MonotonicClock.nanoseconds
        if rest <= 0 {
          alarms.removeAll { $0 === alarm }
          return .alarm(alarm)
        }
        _ = lock.wait(for: .work, nanoseconds: rest)
      }
      return jobs.isEmpty ? nil : .job(jobs.removeFirst())
    }
  }
}
