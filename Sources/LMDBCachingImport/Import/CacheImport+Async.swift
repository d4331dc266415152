import Foundation
public import LMDBCaching
import Synchronization

extension CacheImport {
  /// Imports on a thread of its own, so that the caller's executor waits for no disk; ends when the task is cancelled, and
  /// returns what it did until then.
  ///
  /// - Parameters:
  ///   - cache: Where to.
  ///   - progress: Told now and then how far it is, and at the end; on that thread.
  /// - Throws: As ``run(into:progress:isCancelled:)``.
  @discardableResult
  public nonisolated(nonsending) func run(
    into cache: LMDBCache, progress: @escaping @Sendable (ImportProgress) -> Void = { _ in }
  ) async throws(ImportError) -> ImportReport {
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result<ImportReport, ImportError>, Never>) in
        Thread.detachNewThread {
          let result: Result<ImportReport, ImportError>
          do throws(ImportError) {
            result = .success(
              try run(into: cache, progress: progress, isCancelled: { cancellation.flag.load(ordering: .relaxed) }))
          } catch {
            result = .failure(error)
          }
          continuation.resume(returning: result)
        }
      }
    } onCancel: {
      cancellation.flag.store(true, ordering: .relaxed)
    }.get()
  }
}

private final class Cancellation: Sendable {
  let flag = Atomic<Bool>(false)
}
