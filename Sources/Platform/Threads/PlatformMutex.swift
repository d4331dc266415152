/// A `pthread_mutex_t` with a stable address.
///
/// Unlike `Synchronization.Mutex` it can be locked and unlocked in different functions, which write transactions
/// need, and the thread sanitizer sees it.
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
