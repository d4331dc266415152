/// A mutex with two conditions: one for the working thread, one for all other waiters.
///
/// `Synchronization.Mutex` has no condition variables.
// @unchecked: pthread objects are made to be shared; the pointers never change.
package final class ConditionLock: @unchecked Sendable {
  package enum Condition: Sendable { case work, progress }

  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let conditions: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    mutex = .allocate(capacity: 1)
    conditions = .allocate(capacity: 2)
    precondition(pthread_mutex_init(mutex, nil) == 0, "pthread_mutex_init failed")
    var attributes = pthread_condattr_t()
    precondition(pthread_condattr_init(&attributes) == 0, "pthread_condattr_init failed")
    #if os(Linux)
      precondition(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0, "pthread_condattr_setclock failed")
    #endif
    for index in 0..<2 {
      precondition(pthread_cond_init(conditions + index, &attributes) == 0, "pthread_cond_init failed")
    }
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    for index in 0..<2 { pthread_cond_destroy(conditions + index) }
    pthread_mutex_destroy(mutex)
    conditions.deallocate()
    mutex.deallocate()
  }

  @inlinable @inline(__always)
  package func lock() { pthread_mutex_lock(mutex) }

  @inlinable @inline(__always)
  package func unlock() { pthread_mutex_unlock(mutex) }

  @inlinable @inline(__always)
  package func withLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try body()
  }

  private func pointer(_ condition: Condition) -> UnsafeMutablePointer<pthread_cond_t> {
    condition == .work ? conditions : conditions + 1
  }

  package func signal(_ condition: Condition) { pthread_cond_signal(pointer(condition)) }

  package func signalAll(_ condition: Condition) { pthread_cond_broadcast(pointer(condition)) }

  /// Waits until signaled, with the lock held before and after; may wake spuriously.
  package func wait(for condition: Condition) { pthread_cond_wait(pointer(condition), mutex) }

  /// Waits for at most `nanoseconds`, clamped to 31 years. Returns `false` on timeout.
  package func wait(for condition: Condition, nanoseconds: Int64) -> Bool {
    var time = MonotonicClock.interval(nanoseconds)
    #if os(Linux)
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &now)
      time.tv_sec += now.tv_sec
      time.tv_nsec += now.tv_nsec
      if time.tv_nsec >= 1_000_000_000 {
        time.tv_sec += 1
        time.tv_nsec -= 1_000_000_000
      }
      return pthread_cond_timedwait(pointer(condition), mutex, &time) == 0
    #else
      return pthread_cond_timedwait_relative_np(pointer(condition), mutex, &time) == 0
    #endif
  }
}
