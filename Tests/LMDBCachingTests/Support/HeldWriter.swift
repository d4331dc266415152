import Dispatch

@testable import LMDBCaching

/// Keeps a store's writer thread busy until released.
final class HeldWriter: Sendable {
  private let isReleased = DispatchSemaphore(value: 0)

  /// Returns when the writer thread is blocked.
  init(_ store: DiskStore) {
    let isHeld = DispatchSemaphore(value: 0)
    store.enqueueOnWriterThread { [isReleased] in
      isHeld.signal()
      isReleased.wait()
    }
    isHeld.wait()
  }

  func release() { isReleased.signal() }
}
