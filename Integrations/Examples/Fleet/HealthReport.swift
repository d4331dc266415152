import Hummingbird
import LMDBCachingRedis

/// The JSON of `GET /health`, for people and alarms. A server that is out of touch still serves, so a load balancer
/// should keep it.
struct HealthReport: ResponseEncodable {
  let isHealthy: Bool
  let isInTouch: Bool
  let isRevalidating: Bool
  let areReadsSuspended: Bool
  let areWritesSuspended: Bool
  /// Why the server is out of touch, or why requests are suspended.
  let failure: String?
  /// How far this server lags behind the fleet's changes.
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
