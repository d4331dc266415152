import Synchronization

/// Counts the runs of the loading closures since the cache was opened.
final class LoadCounters: Sendable {
  private let loads = Atomic<Int>(0)
  private let failures = Atomic<Int>(0)
  private let nanoseconds = Atomic<Int64>(0)
  private let stale = Atomic<Int>(0)
  private let refreshes = Atomic<Int>(0)

  func note(isFailure: Bool, nanoseconds: Int64) {
    loads.increment()
    if isFailure { failures.increment() }
    self.nanoseconds.wrappingAdd(max(0, nanoseconds), ordering: .relaxed)
  }

  func noteStale() { stale.increment() }

  func noteRefresh() { refreshes.increment() }

  func add(to statistics: inout CacheStatistics) {
    statistics.loads += loads.load(ordering: .relaxed)
    statistics.staleServed += stale.load(ordering: .relaxed)
    statistics.refreshes += refreshes.load(ordering: .relaxed)
    statistics.failedLoads += failures.load(ordering: .relaxed)
    statistics.loadTime += .nanoseconds(nanoseconds.load(ordering: .relaxed))
  }
}
