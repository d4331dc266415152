import LMDBCaching
public import LMDBCachingRemote
import Synchronization

/// A Redis or Valkey server as the tier below an `LMDBCache`, by hiredis.
///
/// A thread that waits has a connection of a pool for as long as it does; tasks share one, on which their commands follow
/// each other; the changes of the fleet have one of their own. They are made when they are needed, on threads of their own,
/// and again after a failure. Of a cluster the node is asked that has the fleet's keys, once another one has named it.
///
/// There is no TLS. Use a Unix socket, a private network, or a tunnel: <doc:LMDBCachingRedis> says how.
///
/// **Threads.** Any.
public final class RedisTier: RemoteTier {
  private let pool: RedisPool
  private let pipeline: RedisPipeline
  private let blocking: RedisPipeline

  /// Connects to nothing yet.
  ///
  /// - Throws: `.invalidArgument` for a configuration that cannot be right; `.failed` where the system has no descriptor left.
  public init(_ configuration: RedisConfiguration) throws(RemoteTierError) {
    try configuration.validate()
    let connector = RedisConnector(configuration)
    let renewal = Renewal()
    let onForeign: @Sendable (String) -> Void = { message in
      connector.follow(message)
      renewal.run()
    }
    pool = RedisPool(limit: configuration.connections, connector, onForeign: onForeign)
    pipeline = try RedisPipeline("redis", connector, onForeign: onForeign)
    blocking = try RedisPipeline("redis-changes", connector) { message in connector.follow(message) }
    renewal.set(pool, pipeline)
  }

  deinit { close() }

  public func send(
    _ commands: [RemoteCommand], timeLimit: Duration, isBlocking: Bool,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void
  ) {
    (isBlocking ? blocking : pipeline).send(
      commands, timeLimit: max(.zero, timeLimit).clampedNanoseconds, completion: completion)
  }

  public func sendAndWait(
    _ commands: [RemoteCommand], timeLimit: Duration
  ) throws(RemoteTierError) -> [RemoteReply] {
    try pool.perform(commands, timeLimit: max(.zero, timeLimit).clampedNanoseconds)
  }

  public func renewConnections() {
    pool.renew()
    pipeline.renew()
    blocking.renew()
  }

  public func close() {
    pool.close()
    pipeline.close()
    blocking.close()
  }
}

/// Renews connections on which a server has said that it is another one's replica, or has not the keys.
private final class Renewal: Sendable {
  private struct Targets: Sendable {
    weak var pool: RedisPool?
    weak var pipeline: RedisPipeline?
  }

  private let targets = Mutex(Targets())

  func set(_ pool: RedisPool, _ pipeline: RedisPipeline) {
    targets.withLock { $0 = Targets(pool: pool, pipeline: pipeline) }
  }

  func run() {
    let (pool, pipeline) = targets.withLock { ($0.pool, $0.pipeline) }
    pool?.renew()
    pipeline?.renew()
  }
}
