/// A `pthread_mutex_t` with a stable address.
///
/// `Synchronization.Mutex` has neither a plain lock and unlock, which fork handlers and a write transaction need, since
/// they begin in one function and end in another, nor can it be seen by the thread sanitizer.
// @unchecked: the pointer never changes, and a pthread mutex is made to be used by many threads.
package final class PlatformMutex: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  package init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    let status = pthread_mutex_init(mutex, nil)
    precondition(status == 0, "pthread_mutex_init failed")
  }

  deinit {
    // Fails when another thread held it at a fork; nobody can use it any more in either case.
    _ = pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  package func lock() {
    let status = pthread_mutex_lock(mutex)
    precondition(status == 0, "pthread_mutex_lock failed")
  }

  package func tryLock() -> Bool { pthread_mutex_trylock(mutex) == 0 }

  package func unlock() {
    let status = pthread_mutex_unlock(mutex)
    precondition(status == 0, "pthread_mutex_unlock failed")
  }
}
