import LMDBCaching
public import LMDBCachingRemote
import Synchronization

/// A Redis or Valkey server as the tier below an `LMDBCache`, by hiredis.
///
/// Blocking threads take a connection from a pool; tasks share a pipelined one; the fleet's changes have another.
/// Connections are made on demand on separate threads, and again after a failure. In a cluster, follows redirection to
/// the node of the fleet's keys.
///
/// There is no TLS. Use a Unix socket, a private network, or a tunnel: see <doc:LMDBCachingRedis>.
///
/// **Threads.** Any.
public final class RedisTier: RemoteTier {
  private let pool: RedisPool
  private let pipeline: RedisPipeline
  private let blocking: RedisPipeline

  /// Creates the tier without connecting.
  ///
  /// - Throws: `.invalidArgument` for an invalid configuration; `.failed` if the system is out of descriptors.
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

/// Renews connections to a server that has become a replica or no longer has the keys.
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
