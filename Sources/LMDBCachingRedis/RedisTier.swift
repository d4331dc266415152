@_exported public import LMDBCaching
@_exported public import LMDBCachingRemote

// `import LMDBCachingRedis` imports all modules that a fleet needs.

/// A Redis or Valkey server as the tier below an `LMDBCache`, by hiredis.
///
/// Blocking threads take a connection from a pool; tasks share a pipelined one; the fleet's changes have another. In a
/// cluster, follows redirection to the node of the fleet's keys. There is no TLS: see <doc:LMDBCachingRedis>.
///
/// **Threads.** Any.
public final class RedisTier: RemoteTier {
  private let connector: RedisConnector
  /// The follower alone moves the connection of changes to another server: it then distrusts earlier values.
  private let changesConnector: RedisConnector
  private let pool: RedisPool
  private let pipeline: RedisPipeline
  private let blocking: RedisPipeline

  /// Creates the tier without connecting.
  ///
  /// - Throws: `.invalidArgument` for an invalid configuration; `.failed` if the system is out of descriptors.
  public init(_ configuration: RedisConfiguration) throws(RemoteTierError) {
    try configuration.validate()
    connector = RedisConnector(configuration)
    changesConnector = RedisConnector(configuration)
    pool = RedisPool(limit: configuration.connections, connector)
    pipeline = try RedisPipeline("redis", connector)
    blocking = try RedisPipeline("redis-changes", changesConnector)
  }

  deinit { close() }

  public func send(
    _ commands: [RemoteCommand], timeLimit: Duration, isBlocking: Bool,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void
  ) {
    (isBlocking ? blocking : pipeline).send(
      commands, timeLimit: max(.zero, timeLimit).clampedNanoseconds, completion: completion)
  }

  public func sendAndWait(_ commands: [RemoteCommand], timeLimit: Duration) throws(RemoteTierError) -> [RemoteReply] {
    try pool.perform(commands, timeLimit: max(.zero, timeLimit).clampedNanoseconds)
  }

  public func renewConnections() {
    connector.renew()
    changesConnector.renew()
  }

  public func close() {
    pool.close()
    pipeline.close()
    blocking.close()
  }
}

/// The address and credentials of a Redis or Valkey server. Printing it hides the password.
public struct RedisConfiguration: Sendable {
  /// The server's address.
  public enum Address: Sendable, Equatable {
    /// A name or address, and a port from 1 to 65,535.
    case host(String, port: Int)
    /// The path of a Unix socket: 1 to 103 bytes.
    case unixSocket(String)
  }

  public var address: Address
  /// A user in the server's access control list, who needs a password; `nil` for the default one.
  public var username: String?
  /// `nil` if the server requires none.
  public var password: String?
  /// The database number. A cluster has only 0.
  public var database = 0
  /// The most connections for blocking threads, 8 by default, from 1 to 1,024. Tasks share one more.
  public var connections = 8
  /// The time limit for connecting and authenticating: 5 s by default, from 1 ms to an hour. A request waits only for
  /// its own time limit; the connection then serves the next one.
  public var connectTimeLimit = Duration.seconds(5)

  public init(host: String = "127.0.0.1", port: Int = 6379) { address = .host(host, port: port) }

  public init(unixSocket path: String) { address = .unixSocket(path) }

  func validate() throws(RemoteTierError) {
    func check(_ isRight: Bool, _ message: String) throws(RemoteTierError) {
      if !isRight { throw RemoteTierError(.invalidArgument, message) }
    }
    switch address {
    case .host(let host, let port):
      try check(!host.isEmpty && !host.utf8.contains(0), "The host's name is empty, or has a null byte.")
      try check((1...65_535).contains(port), "A port is from 1 to 65535; \(port) is not.")
    case .unixSocket(let path):
      // The limit of sockaddr_un on Darwin, including the terminating zero; others allow more.
      try check(
        !path.isEmpty && path.utf8.count <= 103 && !path.utf8.contains(0),
        "The path of a Unix socket has 1 to 103 bytes; \"\(path)\" has \(path.utf8.count).")
    }
    try check(username == nil || password != nil, "A user needs a password: set it, or no username.")
    try check(database >= 0, "The number of a database is not negative; \(database) is.")
    try check((1...1_024).contains(connections), "There are 1 to 1024 connections; \(connections) is out of that.")
    try check(
      connectTimeLimit >= .milliseconds(1) && connectTimeLimit <= .seconds(3_600),
      "connectTimeLimit is from 1 ms to an hour; \(connectTimeLimit) is not.")
  }

  /// A server's message, which may quote the password, without it.
  func withoutPassword(_ message: String) -> String {
    guard let password, !password.isEmpty else { return message }
    return message.split(separator: password, omittingEmptySubsequences: false).joined(separator: "…")
  }
}

// Also what `print` and `dump` show.
extension RedisConfiguration: CustomReflectable {
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "address": address, "username": username as Any, "password": password == nil ? "none" : "not shown",
        "database": database, "connections": connections, "connectTimeLimit": connectTimeLimit,
      ], displayStyle: .struct)
  }
}
