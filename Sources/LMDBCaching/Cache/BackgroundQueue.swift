import Dispatch

/// Where a cache's functions with completions and those for tasks do their work.
///
/// Writes are made one after the other, in the order of the calls. A read sees every write that was called for before it,
/// and reads are made at the same time as others. What may take long does so aside: it sees those writes, too, and later
/// ones do not wait for it. Completions are called elsewhere: one that waits holds nothing up.
final class BackgroundQueue: Sendable {
  private let queue = DispatchQueue(label: "LMDBCaching.background", qos: .default, attributes: .concurrent)
  private static let completions = DispatchQueue(
    label: "LMDBCaching.completions", qos: .default, attributes: .concurrent)
  private static let aside = DispatchQueue(label: "LMDBCaching.aside", qos: .default, attributes: .concurrent)

  enum Access { case read, write, aside }

  private func run(_ access: Access, _ work: @escaping @Sendable () -> Void) {
    switch access {
    case .read: queue.async(execute: work)
    case .write: queue.async(flags: .barrier, execute: work)
    case .aside: queue.async { Self.aside.async(execute: work) }
    }
  }

  /// Calls `completion` with what `work` returns.
  func run<R: Sendable>(
    _ access: Access, _ work: @escaping @Sendable () -> R, completion: @escaping @Sendable (R) -> Void
  ) {
    run(access) {
      let result = work()
      Self.completions.async { completion(result) }
    }
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

  /// Does what no other call has to be waited for with.
  nonisolated(nonsending) static func performAside<R: Sendable, E: Error>(
    _ work: @escaping @Sendable () throws(E) -> R
  ) async throws(E) -> R {
    try await withCheckedContinuation { (continuation: CheckedContinuation<Result<R, E>, Never>) in
      aside.async { continuation.resume(returning: outcome(work)) }
    }.get()
  }

  nonisolated(nonsending) func perform<R: Sendable, E: Error>(
    _ access: Access, _ work: @escaping @Sendable () throws(E) -> R
  ) async throws(E) -> R {
    try await withCheckedContinuation { (continuation: CheckedContinuation<Result<R, E>, Never>) in
      run(access) { continuation.resume(returning: outcome(work)) }
    }.get()
  }

  /// A queue for several reports that follow each other.
  static func makeReportQueue() -> DispatchQueue {
    DispatchQueue(label: "LMDBCaching.reports", qos: .default, target: completions)
  }
}
