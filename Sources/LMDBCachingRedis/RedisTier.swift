public import LMDBCachingRemote
import LMDBCaching
import Synchronization

/// A Redis or Valkey server as the tier below an `LMDBCache`, by hiredis.
///
/// A thread that waits has a connection of a pool for as long as it does; tasks share one, on which their commands follow
/// each other; the changes of the fleet have one of their own. They are made when they are needed, and again after a
/// failure. TLS is not there: the hiredis that distributions have at this time, 0.14, knows none. Use a Unix socket, a
/// private network or a tunnel.
///
/// **Threads.** Any.
public final class RedisTier: RemoteTier {
  private let pool: RedisPool
  private let pipeline: RedisPipeline
  private let blocking: RedisPipeline

  /// Connects to nothing yet.
  ///
  /// - Throws: `.failed` for a configuration that cannot be right, and where the system has no descriptor left.
  public init(_ configuration: RedisConfiguration) throws(RemoteTierError) {
    try configuration.validate()
    pool = RedisPool(configuration)
    pipeline = try RedisPipeline("redis", configuration)
    blocking = try RedisPipeline("redis-changes", configuration)
  }

  deinit { close() }

  public func send(
    _ commands: [RemoteCommand], timeLimit: Duration, isBlocking: Bool,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void
  ) {
    (isBlocking ? blocking : pipeline).send(
      commands, timeLimit: timeLimit.clampedNanoseconds, completion: completion)
  }

  public func sendAndWait(
    _ commands: [RemoteCommand], timeLimit: Duration
  ) throws(RemoteTierError) -> [RemoteReply] {
    try pool.perform(commands, timeLimit: timeLimit.clampedNanoseconds)
  }

  public func close() {
    pool.close()
    pipeline.close()
    blocking.close()
  }
}
