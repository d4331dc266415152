import Synchronization

/// The last failure of a reference. Noting a success costs one relaxed load where there was no failure.
package final class FailureRecord: Sendable {
  private let hasFailure = Atomic<Bool>(false)
  private let failure = Mutex<EFStorageFailure?>(nil)

  package init() {}

  package var last: EFStorageFailure? { hasFailure.load(ordering: .acquiring) ? failure.withLock { $0 } : nil }

  package func note(_ new: EFStorageFailure) {
    failure.withLock {
      $0 = new
      hasFailure.store(true, ordering: .releasing)
    }
  }

  package func clear() {
    guard hasFailure.load(ordering: .relaxed) else { return }
    failure.withLock {
      $0 = nil
      hasFailure.store(false, ordering: .releasing)
    }
  }
}
