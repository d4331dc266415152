import Synchronization

/// One of the places that a wrapper is made of, which is read and written as a copy.
///
/// Reading and writing run hooks and the observers of failures, which may read and write the same property: so nothing of
/// the wrapper may be accessed meanwhile. A place that has its content in itself is put back when it was written.
///
/// Threads: the copy is taken, and put back, with a lock held; what is done with it is up to the place.
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
    // What was there is released after the lock: a `deinit` may use the property.
    defer { lock.withLock { _ in swap(&storage, &copy) } }
    return try body(&copy)
  }
}

// Sendable if what it holds is: that is touched with the lock held only.
extension Place: @unchecked Sendable where Storage: Sendable {}
