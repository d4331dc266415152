import CPlatform

package enum PlatformThread {
  /// Identifies the calling thread during its lifetime.
  @inlinable @inline(__always)
  package static var current: UInt {
    #if canImport(Glibc)
      pthread_self()
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  /// Starts a detached thread. Linux keeps 15 bytes of its name. Throws `EAGAIN` at the user's or container's limit of
  /// threads, without calling `body`.
  package static func start(
    name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
    var attributes = pthread_attr_t()
    unsafe precondition(pthread_attr_init(&attributes) == 0, "pthread_attr_init failed")
    defer { unsafe pthread_attr_destroy(&attributes) }
    if let stackSize {
      unsafe precondition(pthread_attr_setstacksize(&attributes, stackSize) == 0, "pthread_attr_setstacksize failed")
    }
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let status = unsafe pthread_create(&thread, &attributes, { unsafe Start.run($0) }, start.toOpaque())
    guard status == 0 else {
      unsafe start.release()
      throw SystemError("pthread_create", name, errno: status)
    }
  }

  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }

    /// - Parameter context: Never `nil`. Only Darwin declares it so.
    static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
      let start = unsafe Unmanaged<Start>.fromOpaque(context!).takeRetainedValue()
      // Linux limits a name to 15 bytes.
      unsafe cplatform_name_thread(String(decoding: start.name.utf8.prefix(15), as: UTF8.self))
      pthread_detach(pthread_self())
      start.body()
      return nil
    }
  }
}

/// A thread's stack bounds, to limit recursion whose depth the input decides.
package struct ThreadStack: BitwiseCopyable, Sendable {
  private let lowest: UInt
  /// The space below this address is reserved for reporting the exhaustion.
  private let limit: UInt

  /// The calling thread's stack; `nil` if unknown. Takes microseconds.
  package static func current() -> ThreadStack? {
    var lowest: UInt = 0
    var size = 0
    guard unsafe cplatform_stack(&lowest, &size) == 0 else { return nil }
    return ThreadStack(lowest: lowest, limit: lowest + UInt(min(128 << 10, size / 4)))
  }

  /// Whether recursion should stop. `false` on any other stack.
  @inline(never)
  package var isNearlyUsedUp: Bool {
    let here = cplatform_stack_position()
    return here >= lowest && here < limit
  }
}

/// A mutex with two conditions, for the working thread and for all other waiters. Unlike `Synchronization.Mutex`, it can
/// be locked and unlocked in different functions.
// @unchecked: pthread objects are made to be shared; the pointers never change.
// @safe: they exist as long as the object, which is the only one to have their addresses.
@safe package final class ConditionLock: @unchecked Sendable {
  package enum Condition: Sendable { case work, progress }

  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let conditions: UnsafeMutablePointer<pthread_cond_t>

  package init() {
    unsafe (mutex, conditions) = (.allocate(capacity: 1), .allocate(capacity: 2))
    unsafe precondition(pthread_mutex_init(mutex, nil) == 0, "pthread_mutex_init failed")
    var attributes = pthread_condattr_t()
    unsafe precondition(pthread_condattr_init(&attributes) == 0, "pthread_condattr_init failed")
    #if os(Linux)
      let status = unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      precondition(status == 0, "pthread_condattr_setclock failed")
    #endif
    for index in 0..<2 {
      unsafe precondition(pthread_cond_init(conditions + index, &attributes) == 0, "pthread_cond_init failed")
    }
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    for index in 0..<2 { unsafe pthread_cond_destroy(conditions + index) }
    unsafe pthread_mutex_destroy(mutex)
    unsafe conditions.deallocate()
    unsafe mutex.deallocate()
  }

  @inlinable @inline(__always)
  package func lock() { unsafe pthread_mutex_lock(mutex) }

  package func tryLock() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

  @inlinable @inline(__always)
  package func unlock() { unsafe pthread_mutex_unlock(mutex) }

  @inlinable @inline(__always)
  package func withLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try body()
  }

  private func pointer(_ condition: Condition) -> UnsafeMutablePointer<pthread_cond_t> {
    unsafe condition == .work ? conditions : conditions + 1
  }

  package func signal(_ condition: Condition) { unsafe pthread_cond_signal(pointer(condition)) }

  package func signalAll(_ condition: Condition) { unsafe pthread_cond_broadcast(pointer(condition)) }

  /// Waits until signaled, with the lock held before and after; may wake spuriously.
  package func wait(for condition: Condition) { unsafe pthread_cond_wait(pointer(condition), mutex) }

  /// Waits for at most `nanoseconds`, clamped to 31 years. Returns `false` on timeout.
  package func wait(for condition: Condition, nanoseconds: Int64) -> Bool {
    #if os(Linux)
      var time = MonotonicClock.interval(MonotonicClock.nanoseconds.addingClamped(max(0, nanoseconds)))
      return unsafe pthread_cond_timedwait(pointer(condition), mutex, &time) == 0
    #else
      var time = MonotonicClock.interval(nanoseconds)
      return unsafe pthread_cond_timedwait_relative_np(pointer(condition), mutex, &time) == 0
    #endif
  }
}
