import Dispatch
import Platform
import Synchronization

/// Runs the work of a cache's functions with completions, and of those for tasks.
///
/// The work may block, so it runs on threads of its own: on Linux, Swift's pool and Dispatch's have about as many
/// threads as there are processors.
///
/// Writes run one after the other, in the order of the calls. A read sees every write that was called for before it,
/// and runs beside other reads. Work *aside*, such as the closures of `write` and `update`, may take long: it sees the earlier
/// writes, and later ones do not wait for it. The *last* work waits for everything before it. Completions run when their work has ended: one that waits holds
/// nothing up.
final class BackgroundQueue: Sendable {
  enum Access { case read, write, aside, last }

  private struct Job {
    let access: Access
    let work: @Sendable () -> Void
  }

  private struct State {
    /// Those before ``first`` have begun.
    private var waiting: [Job?] = []
    private var first = 0
    private var running: [Access: Int] = [:]

    mutating func append(_ job: Job) { waiting.append(job) }

    mutating func end(_ access: Access) { running[access, default: 0] -= 1 }

    /// The next job, unless it waits for one that runs.
    mutating func next() -> Job? {
      func runs(_ access: Access) -> Bool { running[access, default: 0] > 0 }
      guard first < waiting.count, !runs(.write), !runs(.last),
        running.values.reduce(0, +) < BackgroundQueue.greatestCount, let job = waiting[first]
      else { return nil }
      switch job.access {
      case .read, .aside: break
      case .write: if runs(.read) { return nil }
      case .last: if runs(.read) || runs(.aside) { return nil }
      }
      running[job.access, default: 0] += 1
      // Its captures end with it.
      waiting[first] = nil
      first += 1
      if first == waiting.count || first == 1_024 {
        waiting.removeSubrange(..<first)
        first = 0
      }
      return job
    }
  }

  /// More jobs wait: each has a thread of its own.
  private static let greatestCount = 1_024

  private let state = Mutex(State())

  static func start(_ work: @escaping @Sendable () -> Void) {
    // Dispatch has 255 threads on Linux, which blocked work would use up.
    do throws(SystemError) { try PlatformThread.start(name: "lmdb-cache-work", work) } catch {
      DispatchQueue.global().async(execute: work)
    }
  }

  private func startNext() {
    while let job = state.withLock({ $0.next() }) { Self.start(job.work) }
  }

  /// Calls `completion` with what `work` returns.
  func run<R: Sendable>(
    _ access: Access, _ work: @escaping @Sendable () -> R, completion: @escaping @Sendable (R) -> Void
  ) {
    state.withLock {
      $0.append(
        Job(access: access) { [self] in
          let result = work()
          state.withLock { $0.end(access) }
          startNext()
          completion(result)
        })
    }
    startNext()
  }

  /// Calls `completion` with the error, if there was one.
  func report(
    _ access: Access, _ work: @escaping @Sendable () throws(CacheError) -> Void,
    completion: @escaping @Sendable (CacheError?) -> Void
  ) {
    run(access) {
      var failure: CacheError?
      do throws(CacheError) { try work() } catch { failure = error }
      return failure
    } completion: {
      completion($0)
    }
  }

  /// Runs work that needs no order with other calls.
  nonisolated(nonsending) static func performAside<R: Sendable, E: Error>(
    _ work: @escaping @Sendable () throws(E) -> R
  ) async throws(E) -> R {
    try await withCheckedContinuation { (continuation: CheckedContinuation<Result<R, E>, Never>) in
      start { continuation.resume(returning: outcome(work)) }
    }.get()
  }

  nonisolated(nonsending) func perform<R: Sendable, E: Error>(
    _ access: Access, _ work: @escaping @Sendable () throws(E) -> R
  ) async throws(E) -> R {
    try await withCheckedContinuation { (continuation: CheckedContinuation<Result<R, E>, Never>) in
      run(access, { outcome(work) }, completion: { continuation.resume(returning: $0) })
    }.get()
  }
}
