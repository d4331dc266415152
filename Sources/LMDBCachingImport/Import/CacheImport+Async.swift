import Foundation
public import LMDBCaching
import Synchronization

extension CacheImport {
  /// Imports on a separate thread without blocking the caller's executor. Cancelling the task ends the import, which
  /// then returns its report so far.
  ///
  /// - Parameters:
  ///   - cache: The destination.
  ///   - progress: Called regularly and at the end, on that thread.
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
