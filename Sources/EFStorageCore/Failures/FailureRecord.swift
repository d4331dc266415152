import Synchronization

/// The last failure of a reference. Noting a success costs one relaxed load without a failure.
package final class FailureRecord: Sendable {
  private let hasFailure = Atomic<Bool>(false)
  private let failure = Mutex<EFStorageFailure?>(nil)

  package init() {}

  package var last: EFStorageFailure? { hasFailure.load(ordering: .acquiring) ? failure.withLock { $0 } : nil }

  package func note(_ new: EFStorageFailure) {
    replace(by: new)
  }

  package func clear() {
    guard hasFailure.load(ordering: .relaxed) else { return }
    replace(by: nil)
  }

  /// The old one is released after the lock: its `deinit` may use the reference.
  private func replace(by new: EFStorageFailure?) {
    var new = new
    let isFailure = new != nil
    failure.withLock {
      swap(&$0, &new)
      hasFailure.store(isFailure, ordering: .releasing)
    }
  }
}
