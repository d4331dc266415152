import Foundation
import Testing

/// Runs blocking tests on dedicated threads: the shared pool has one thread per core, and other tests would starve.
struct OwnThreads: TestTrait, SuiteTrait, TestScoping {
  private final class Executor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(Executor()) { try await function() }
  }
}

extension Trait where Self == OwnThreads {
  static var ownThreads: Self { OwnThreads() }
}
