import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport

/// A machine of a fleet: a directory of its own, and a cache.
final class Machine: Sendable {
  let directory: URL
  let cache: DistributedCache

  init(
    _ server: RedisServer, socket: String? = nil, directory: URL? = nil,
    local: CacheConfiguration = CacheConfiguration(), settles: Bool = true,
    _ change: (inout DistributedCacheConfiguration) -> Void = { _ in }
  ) throws {
    self.directory =
      directory ?? FileManager.default.temporaryDirectory.appendingPathComponent("m-\(UUID().uuidString)")
    var configuration = DistributedCacheConfiguration()
    // A machine that tests share may take its time.
    configuration.timeLimit = .seconds(20)
    change(&configuration)
    cache = try DistributedCache(
      local: LMDBCache(directory: self.directory, configuration: local),
      remote: RedisTier(RedisConfiguration(unixSocket: socket ?? server.socket)),
      configuration: configuration)
    if settles { try settle() }
  }

  deinit {
    cache.close(timeLimit: .zero)
    try? cache.local.close()
    try? FileManager.default.removeItem(at: directory)
  }

  /// Waits until it hears of the fleet, and what it has is known to be the newest.
  func settle() throws { try eventually { cache.health.isSettled } }
}

struct NotInTime: Error {}

/// Waits until something is so, five minutes at most.
func eventually(_ condition: () throws -> Bool) throws {
  let limit = Date(timeIntervalSinceNow: 300)
  while try !condition() {
    guard Date() < limit else { throw NotInTime() }
    usleep(2_000)
  }
}
