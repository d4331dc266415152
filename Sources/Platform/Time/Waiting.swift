/// How to wait: by the system's clock or a test's.
package struct Waiting: Sendable {
  /// Monotonic nanoseconds.
  package var now: @Sendable () -> Int64
  package var sleep: @Sendable (_ nanoseconds: Int64) -> Void
  package var yield: @Sendable () -> Void

  package init(
    now: @escaping @Sendable () -> Int64, sleep: @escaping @Sendable (_ nanoseconds: Int64) -> Void,
    yield: @escaping @Sendable () -> Void = {}
  ) {
    self.now = now
    self.sleep = sleep
    self.yield = yield
  }

  package static let system = Waiting(
    now: { MonotonicClock.nanoseconds }, sleep: { MonotonicClock.sleep(nanoseconds: $0) }, yield: { sched_yield() })
}
