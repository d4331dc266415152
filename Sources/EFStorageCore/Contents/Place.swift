import Synchronization

/// One of a wrapper's places, accessed as a copy.
///
/// Accesses run hooks and observers of failures, which may access the same property, so the wrapper itself must not be
/// accessed then. A place that holds its content is put back after a write.
///
/// Threads: a lock guards taking and returning the copy; the place decides about its use.
final class Place<Storage> {
  private let lock = Mutex(())
  private var storage: Storage

  init(_ storage: Storage) { self.storage = storage }

  var current: Storage {
    var copy: Storage?
    lock.withLock { _ in copy = storage }
    return copy!
  }

  func change<R>(_ body: (inout Storage) throws -> R) rethrows -> R {
    var copy = current
    // Released after the lock: a `deinit` may use the property.
    defer { lock.withLock { _ in swap(&storage, &copy) } }
    return try body(&copy)
  }
}

// Sendable if its storage is: the variable is only used with the lock held.
extension Place: @unchecked Sendable where Storage: Sendable {}
