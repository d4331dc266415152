import Synchronization

/// What the closures that load values did since the cache was opened.
final class LoadCounters: Sendable {
  private let loads = Atomic<Int>(0)
  private let failures = Atomic<Int>(0)
  private let nanoseconds = Atomic<Int64>(0)
  private let stale = Atomic<Int>(0)
  private let refreshes = Atomic<Int>(0)

  /// Notes a closure that has ended.
  ///
  /// - Parameter nanoseconds: How long it ran.
  func note(isFailure: Bool, nanoseconds: Int64) {
    loads.increment()
    if isFailure { failures.increment() }
    self.nanoseconds.wrappingAdd(max(0, nanoseconds), ordering: .relaxed)
  }

  /// Notes that a value was served after its expiry.
  func noteStale() { stale.increment() }

  /// Notes a load that nobody waits for.
  func noteRefresh() { refreshes.increment() }

  func add(to statistics: inout CacheStatistics) {
    statistics.loads += loads.load(ordering: .relaxed)
    statistics.staleServed += stale.load(ordering: .relaxed)
    statistics.refreshes += refreshes.load(ordering: .relaxed)
    statistics.failedLoads += failures.load(ordering: .relaxed)
    statistics.loadTime += .nanoseconds(nanoseconds.load(ordering: .relaxed))
  }
}
