import Platform
import Synchronization

/// Runs loads beside their callers: those of the background, and those that have a time limit. They have the task-local
/// values of their callers.
enum LoadQueue {
  /// Runs `load`, which may block its thread. Nobody waits for it.
  static func run(_ load: @escaping @Sendable () -> Void) {
    Load.handingOver(isAwaited: false) { LoadExecutor.run(load) }
  }

  /// The same for tasks.
  static func run(_ load: @escaping @Sendable () async -> Void) {
    Load.handingOver(isAwaited: false) { _ = Task(operation: load) }
  }

  /// Returns what `load` returns, or `nil` if that takes longer than the limit; it goes on in any case.
  static func wait<R: Sendable>(_ limit: Duration, _ load: @escaping @Sendable () throws -> R) throws -> R? {
    let outcome = AwaitedResult<Result<R, any Error>>()
    Load.handingOver(isAwaited: true) { LoadExecutor.run { outcome.finish(Result { try load() }) } }
    return try outcome.wait(limit)?.get()
  }

  /// What `load` returns, if it does so in time; it goes on in any case. A caller that is cancelled cancels it.
  ///
  /// - Throws: `.loadTimedOut`, and what `load` throws.
  static func wait<R: Sendable>(
    _ limit: Duration?, _ key: String, _ load: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    guard let limit else { return try await load() }
    let task = Load.handingOver(isAwaited: true) { Task { try await load() } }
    let race = Race<R>()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        race.begin(continuation)
        let timer = Task {
          // The moment at which it ends has to be one that a duration can be made of.
          do { try await Task.sleep(for: .nanoseconds(limit.clampedNanoseconds)) } catch { return }
          race.end(.failure(timedOut(key, limit)))
        }
        Task {
          race.end(await task.result)
          timer.cancel()
        }
      }
    } onCancel: {
      task.cancel()
      race.end(.failure(CancellationError()))
    }
  }

  static func timedOut(_ key: String, _ limit: Duration) -> CacheError {
    CacheError(
      .loadTimedOut,
      "The value of \(quoted(key)) was not loaded within \(limit). The load goes on, and is stored when it ends.")
  }

  /// The first outcome counts.
  private final class Race<R: Sendable>: Sendable {
    private enum State {
      case waiting
      case begun(CheckedContinuation<R, any Error>)
      case ended(Result<R, any Error>?)
    }

    private let state = Mutex(State.waiting)

    func begin(_ continuation: CheckedContinuation<R, any Error>) {
      let early = state.withLock { state -> Result<R, any Error>? in
        if case .ended(let result) = state {
          state = .ended(nil)
          return result
        }
        state = .begun(continuation)
        return nil
      }
      if let early { continuation.resume(with: early) }
    }

    func end(_ result: Result<R, any Error>) {
      let continuation = state.withLock { state -> CheckedContinuation<R, any Error>? in
        switch state {
        case .waiting:
          state = .ended(result)
          return nil
        case .begun(let continuation):
          state = .ended(nil)
          return continuation
        case .ended: return nil
        }
      }
      continuation?.resume(with: result)
    }
  }
}
