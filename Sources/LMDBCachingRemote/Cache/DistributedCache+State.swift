import Platform
import Synchronization

extension DistributedCache {
  /// How the cache and its server get on, as of now. Costs a few locks.
  public var health: RemoteHealth {
    RemoteHealth(
      isInTouch: unheardSince == nil, areReadsSuspended: client.isSuspended(.read),
      areWritesSuspended: client.isSuspended(.write), isRevalidating: revalidation.isActive)
  }

  /// What was counted since the cache was made. The counters are read one by one while others change.
  public var statistics: RemoteStatistics {
    let counters = client.counters
    var statistics = RemoteStatistics()
    statistics.requests = counters.requests.load(ordering: .relaxed)
    statistics.failures = counters.failures.load(ordering: .relaxed)
    statistics.requestTime = counters.requestTime
    statistics.hits = counters.hits.load(ordering: .relaxed)
    statistics.misses = counters.misses.load(ordering: .relaxed)
    statistics.loads = counters.loads.load(ordering: .relaxed)
    statistics.unreadable = counters.unreadable.load(ordering: .relaxed)
    statistics.invalidations = counters.invalidations.load(ordering: .relaxed)
    statistics.gaps = counters.gaps.load(ordering: .relaxed)
    statistics.givenUpWrites = counters.givenUp.load(ordering: .relaxed)
    statistics.waitingWrites = queue?.count ?? 0
    statistics.waitingBytes = queue?.size ?? 0
    if let since = unheardSince { statistics.lag = .nanoseconds(MonotonicClock.nanoseconds - since) }
    return statistics
  }
}
