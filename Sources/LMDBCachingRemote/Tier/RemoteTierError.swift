/// Why a remote tier did not do what it was asked for.
public struct RemoteTierError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String, Sendable {
      case unreachable, timedOut, refused, full, readOnly, failed, suspended, queueFull, notKept, closed
    }
    private let value: Value
    private init(_ value: Value) { self.value = value }
    public var description: String { value.rawValue }

    /// There is no connection, or it broke, or the server is loading its data.
    public static let unreachable = Code(.unreachable)
    /// There was no reply in time. Whether the command has had an effect is not known.
    public static let timedOut = Code(.timedOut)
    /// The server does not accept the user or the password, or forbids the command.
    public static let refused = Code(.refused)
    /// The server has no memory left for writes.
    public static let full = Code(.full)
    /// The server is a replica, or cannot write for want of others or of its disk.
    public static let readOnly = Code(.readOnly)
    /// The server answered with another error, or with what is no answer.
    public static let failed = Code(.failed)
    /// It was not asked, since it failed several times in a row: see ``DistributedCacheConfiguration/breaker``.
    public static let suspended = Code(.suspended)
    /// More waits to be sent than ``DistributedCacheConfiguration/WriteMode/behind(limit:keptIn:)`` allows.
    public static let queueFull = Code(.queueFull)
    /// A write that is to survive the process until it is sent could not be kept on the disk.
    public static let notKept = Code(.notKept)
    /// The tier, or the cache that uses it, was closed.
    public static let closed = Code(.closed)
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

  public var description: String {
    guard let underlying else { return "\(code): \(message)" }
    return "\(code): \(message) (\(underlying))"
  }

  /// Whether it is certain that the one command had no effect.
  var isWithoutEffect: Bool { [.suspended, .full, .readOnly, .refused].contains(code) }

  /// An error reply, by its first word.
  init(reply: String) {
    let code: Code =
      switch reply.prefix(while: { $0 != " " }) {
      case "OOM": .full
      case "READONLY", "NOREPLICAS", "MISCONF": .readOnly
      case "NOAUTH", "WRONGPASS", "NOPERM": .refused
      case "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY": .unreachable
      default: .failed
      }
    self.init(code, reply)
  }
}
