import Hummingbird
import LMDBCachingRedis

/// What `GET /health` answers, as JSON. It is for people and alarms: a server that is out of touch still serves, so a load
/// balancer has no reason to take it away.
struct HealthReport: ResponseEncodable {
  let isHealthy: Bool
  let isInTouch: Bool
  let isRevalidating: Bool
  let areReadsSuspended: Bool
  let areWritesSuspended: Bool
  /// Why there is no touch, or why requests are suspended.
  let failure: String?
  /// By how much what this server has followed of the changes lags behind.
  let lagInSeconds: Double
  let requests: Int
  let failures: Int
  let hits: Int
  let misses: Int
  let invalidations: Int

  init(_ cache: DistributedCache) {
    let (health, statistics) = (cache.health, cache.statistics)
    isHealthy = health.isHealthy
    isInTouch = health.isInTouch
    isRevalidating = health.isRevalidating
    areReadsSuspended = health.areReadsSuspended
    areWritesSuspended = health.areWritesSuspended
    failure = health.failure?.description
    lagInSeconds = statistics.lag / .seconds(1)
    requests = statistics.requests
    failures = statistics.failures
    hits = statistics.hits
    misses = statistics.misses
    invalidations = statistics.invalidations
  }
}
