public import Foundation

/// A connection to a Redis or Valkey server, as ``DistributedCache`` needs one: what takes commands and gives replies.
///
/// `RedisTier` of the product LMDBCachingRedis is one. Another client is made one by conforming a type to this: nothing
/// but two functions is asked of it, and what the commands mean is the cache's affair.
///
/// **Threads.** Every function is called from any thread.
public protocol RemoteTier: Sendable {
  /// Sends commands, in their order and on one connection, and calls `completion` once: with a reply for each, an error
  /// reply included, or with an error if there are not replies for all of them within the time limit. Whether those
  /// that got none have an effect is not known then.
  ///
  /// Does not wait. `completion` does not either, and may be called on any thread, also before this returns.
  ///
  /// - Parameters:
  ///   - timeLimit: How long the replies may take, connecting included.
  ///   - isBlocking: Whether the server may hold a reply back, up to the time limit: such commands have a connection
  ///     that
  ///     no others wait for.
  func send(
    _ commands: [RemoteCommand], timeLimit: Duration, isBlocking: Bool,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void)

  /// The same for a thread that may wait. By default it waits for the other form.
  func sendAndWait(_ commands: [RemoteCommand], timeLimit: Duration) throws(RemoteTierError) -> [RemoteReply]

  /// What is sent from now on goes over connections that are made from now on: the server may have been replaced by
  /// another one, to which the address leads now. What is under way goes on. By default nothing is done, which is right
  /// for a tier whose connections end with the server's being the primary.
  func renewConnections()

  /// Ends every connection. What is under way fails, and so does what is sent later, with
  /// ``RemoteTierError/Code/closed``.
  func close()
}

extension RemoteTier {
  public func sendAndWait(
    _ commands: [RemoteCommand], timeLimit: Duration
  ) throws(RemoteTierError) -> [RemoteReply] {
    let result = Settled<Result<[RemoteReply], RemoteTierError>>()
    send(commands, timeLimit: timeLimit, isBlocking: false) { result.settle($0) }
    return try result.wait().get()
  }

  public func renewConnections() {}
}

/// One command: its name and arguments, as bytes.
public struct RemoteCommand: Sendable, Hashable {
  public var arguments: [Data]

  public init(_ arguments: [Data]) { self.arguments = arguments }

  init(_ arguments: any RemoteArgument...) { self.arguments = arguments.map(\.bytes) }
}

/// What stands for itself in a command.
protocol RemoteArgument {
  var bytes: Data { get }
}

extension Data: RemoteArgument {
  var bytes: Data { self }
}

extension String: RemoteArgument {
  var bytes: Data { Data(utf8) }
}

extension Int: RemoteArgument {
  var bytes: Data { Data(String(self).utf8) }
}

/// A server's reply to one command.
public enum RemoteReply: Sendable, Hashable {
  case null
  case integer(Int64)
  /// A string of either kind.
  case bytes(Data)
  case array([RemoteReply])
  /// What the server says instead of a result: `OOM …`, say.
  case error(String)
}
