public import Foundation
import LMDBCaching

/// A client of a Redis or Valkey server, such as `RedisTier`. Only ``send(_:timeLimit:isBlocking:completion:)`` and
/// ``close()`` are required.
///
/// **Threads.** Any.
public protocol RemoteTier: Sendable {
  /// Sends commands in order on one connection. Does not block.
  ///
  /// - Parameters:
  ///   - timeLimit: For all replies, connecting included.
  ///   - isBlocking: Whether the server may hold a reply back; such commands have a connection of their own.
  ///   - completion: Called once, on any thread, perhaps before this returns, with a reply or error reply for each
  ///     command. After an error, the commands may or may not have had an effect.
  func send(
    _ commands: [RemoteCommand], timeLimit: Duration, isBlocking: Bool,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void)

  /// Sends commands and blocks the thread for the replies.
  func sendAndWait(_ commands: [RemoteCommand], timeLimit: Duration) throws(RemoteTierError) -> [RemoteReply]

  /// Sends later requests over new connections, since the address may lead to another server. Does nothing by default.
  func renewConnections()

  /// Ends every connection. Present and later requests fail with ``RemoteTierError/Code/closed``.
  func close()
}

extension RemoteTier {
  public func sendAndWait(_ commands: [RemoteCommand], timeLimit: Duration) throws(RemoteTierError) -> [RemoteReply] {
    try LoadCaller.wait { _ in
      await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<[RemoteReply], RemoteTierError>, Never>) in
        send(commands, timeLimit: timeLimit, isBlocking: false) { continuation.resume(returning: $0) }
      }
    }.get()
  }

  public func renewConnections() {}
}

/// One command: its name and arguments, as bytes.
public struct RemoteCommand: Sendable, Hashable {
  public var arguments: [Data]

  public init(_ arguments: [Data]) { self.arguments = arguments }

  init(_ arguments: any RemoteArgument...) { self.arguments = arguments.map(\.bytes) }
}

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

/// Why a remote tier did not do what it was asked for.
public struct RemoteTierError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure. An open set: keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// There is no connection, or it broke, or the server is loading its data, or serves others only.
    public static let unreachable = Code("unreachable")
    /// There was no reply in time. Whether the command has had an effect is not known.
    public static let timedOut = Code("timedOut")
    /// All connections were in use for as long as the request had time. Nothing was sent.
    public static let busy = Code("busy")
    /// The server does not accept the user or the password, or forbids the command.
    public static let refused = Code("refused")
    /// The server has no memory left for writes.
    public static let full = Code("full")
    /// The server is a replica, or cannot write for want of others or of its disk.
    public static let readOnly = Code("readOnly")
    /// The server answered with another error, or with what is no answer.
    public static let failed = Code("failed")
    /// It was not asked, since it failed several times in a row.
    public static let suspended = Code("suspended")
    /// More waits to be sent than ``DistributedCacheConfiguration/WriteMode/behind(limit:keptIn:)`` allows.
    public static let queueFull = Code("queueFull")
    /// A write that is to survive the process until it is sent could not be kept on the disk.
    public static let notKept = Code("notKept")
    /// The tier, or the cache that uses it, was closed.
    public static let closed = Code("closed")
    /// A setting is out of its range. The message says which, and what the range is.
    public static let invalidArgument = Code("invalidArgument")
  }

  public var code: Code
  /// What happened, for people.
  public var message: String
  /// The failure beneath this one, where there is one.
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }

  /// Whether both say the same. What is beneath is not compared.
  public static func == (first: RemoteTierError, second: RemoteTierError) -> Bool {
    first.code == second.code && first.message == second.message
  }

  /// Whether it is certain that the one command had no effect.
  var isWithoutEffect: Bool { [.suspended, .busy, .full, .readOnly, .refused].contains(code) }

  /// The words that errors of a server begin with, and what they mean.
  private static let words: [String: Code] = [
    "OOM": .full, "READONLY": .readOnly, "NOREPLICAS": .readOnly, "MISCONF": .readOnly, "NOAUTH": .refused,
    "WRONGPASS": .refused, "NOPERM": .refused, "LOADING": .unreachable, "MASTERDOWN": .unreachable,
    "CLUSTERDOWN": .unreachable, "TRYAGAIN": .unreachable, "BUSY": .unreachable, "MOVED": .unreachable,
    "ASK": .unreachable, "UNBLOCKED": .unreachable,
  ]

  private static let phrases: [(text: String, code: Code)] = [
    ("max number of clients", .unreachable), ("can't run this command", .refused),
    ("can't access at least one of the keys", .refused), ("Authentication required", .refused),
  ]

  /// An error reply: by its first word, or that of an error inside a script, which servers up to 6.2 quote in a
  /// sentence.
  package init(reply: String) {
    let words = reply.split(separator: " ").enumerated().filter { $0 == 0 || $1.hasPrefix("-") }.map(\.1)
    let code = words.lazy.compactMap { Self.words[String($0.drop { $0 == "-" })] }.first
    self.init(code ?? Self.phrases.first { reply.contains($0.text) }?.code ?? .failed, reply)
  }

  /// Whether the server refuses this request only.
  var isAboutOneRequest: Bool {
    code == .failed && ["Protocol error", "exceeds maximum allowed size"].contains { message.contains($0) }
  }

  /// Whether another program has put something other than a string under the key.
  var isOfAnotherType: Bool { code == .failed && message.contains("WRONGTYPE") }

  /// Whether the server is no primary that serves: the address may lead to another one.
  package static func isOfAnotherServer(reply: String) -> Bool {
    let message = reply.hasPrefix("-") ? String(reply.dropFirst()) : reply
    return ["READONLY", "LOADING", "MASTERDOWN", "MOVED"].contains { message.hasPrefix($0 + " ") }
      || reply.contains(" -READONLY ")
  }
}
