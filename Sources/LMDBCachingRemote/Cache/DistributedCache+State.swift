import Synchronization

extension DistributedCache {
  /// How the cache and its server get on, as of now. Costs a few locks.
  public var health: RemoteHealth {
    let (reads, writes) = (client.suspension(of: .read), client.suspension(of: .write))
    var failure = reads ?? writes
    var isInTouch = true
    if case .unheard(_, let error) = follower.touch { (isInTouch, failure) = (false, error ?? failure) }
    return RemoteHealth(
      isInTouch: isInTouch, areReadsSuspended: reads != nil, areWritesSuspended: writes != nil,
      isRevalidating: revalidation.isActive, failure: failure)
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
    statistics.gaps = counters.gaps.load(ordering: .acquiring)
    statistics.givenUpWrites = counters.givenUp.load(ordering: .relaxed)
    statistics.breakerOpenings = counters.breakerOpenings.load(ordering: .relaxed)
    for (queue, _) in servedQueues {
      statistics.waitingWrites += queue.count
      statistics.waitingBytes += queue.size
    }
    statistics.lag = .nanoseconds(follower.lag)
    return statistics
  }
}
