#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A mutex with two conditions: one that the writer thread waits for, one that everybody else waits for.
///
/// `Synchronization.Mutex` cannot be waited on; this is the one place where waiting is needed.
// Sendable: pthread objects are made to be shared; the pointers never change.
final class ConditionLock: @unchecked Sendable {
  enum Condition { case work, progress }

  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let conditions: UnsafeMutablePointer<pthread_cond_t>

  init() {
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

  @inline(__always)
  func lock() { pthread_mutex_lock(mutex) }

  @inline(__always)
  func unlock() { pthread_mutex_unlock(mutex) }

  @inline(__always)
  func withLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try body()
  }

  private func pointer(_ condition: Condition) -> UnsafeMutablePointer<pthread_cond_t> {
    condition == .work ? conditions : conditions + 1
  }

  func signalAll(_ condition: Condition) { pthread_cond_broadcast(pointer(condition)) }

  /// Waits, with the lock held before and after, until signalled; wakes up without a cause at times.
  func wait(for condition: Condition) { pthread_cond_wait(pointer(condition), mutex) }

  /// The same for at most `nanoseconds`. False: the time is over.
  func wait(for condition: Condition, nanoseconds: Int64) -> Bool {
    #if os(Linux)
      var deadline = timespec()
      clock_gettime(CLOCK_MONOTONIC, &deadline)
      let total = Int64(deadline.tv_nsec) + nanoseconds % 1_000_000_000
      deadline.tv_sec += Int(nanoseconds / 1_000_000_000 + total / 1_000_000_000)
      deadline.tv_nsec = Int(total % 1_000_000_000)
      return pthread_cond_timedwait(pointer(condition), mutex, &deadline) == 0
    #else
      var interval = timespec(
        tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
      return pthread_cond_timedwait_relative_np(pointer(condition), mutex, &interval) == 0
    #endif
  }
}
