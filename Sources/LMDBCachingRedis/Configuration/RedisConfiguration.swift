/// Where a Redis or Valkey server is, and who asks.
///
/// What is printed of it does not show the password.
public struct RedisConfiguration: Sendable {
  /// Where the server listens.
  public enum Address: Sendable, Equatable {
    /// A name or an address, and a port from 1 to 65,535.
    case host(String, port: Int)
    /// The path of a Unix socket: 1 to 103 bytes.
    case unixSocket(String)
  }

  public var address: Address
  /// A user of the server's access control list, who needs a password; `nil` for the default one.
  public var username: String?
  /// `nil` where the server asks for none.
  public var password: String?
  /// The number of the database. A cluster has 0 alone.
  public var database = 0
  /// How many connections threads that wait may have at once, each its own: 8 by default, from 1 to 1,024. Further ones wait
  /// for one of them. Tasks share one connection more, on which their commands follow each other without waiting for replies.
  public var connections = 8
  /// How long making a connection may take, with the password: 5 s by default, from 1 ms to an hour. The look-up of a host's
  /// name counts, and takes as long as the system lets it: after a longer one there is no time left. A request waits for the
  /// connection no longer than its own time limit; it is there for the next one then.
  public var connectTimeLimit = Duration.seconds(5)
  /// What the server lists the connections as: 1 to 64 letters, digits and hyphens.
  public var clientName = "lmdb-caching"

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
      // sockaddr_un has room for so many with the zero at the end, and fewer on Darwin.
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
    try check(
      !clientName.isEmpty && clientName.utf8.count <= 64
        && clientName.utf8.allSatisfy {
          UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || 0x30...0x39 ~= $0 || $0 == 0x2D
        },
      "The name of a client has 1 to 64 letters, digits and hyphens; \"\(clientName)\" does not.")
  }

  /// A message that the server may have put the password into, without it.
  func withoutPassword(_ message: String) -> String {
    guard let password, !password.isEmpty else { return message }
    return message.split(separator: password, omittingEmptySubsequences: false).joined(separator: "…")
  }
}

extension RedisConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  private var shown: [(label: String, value: Any)] {
    [
      ("address", address), ("username", username as Any), ("password", password == nil ? "none" : "not shown"),
      ("database", database), ("connections", connections), ("connectTimeLimit", connectTimeLimit),
      ("clientName", clientName),
    ]
  }

  public var description: String {
    "RedisConfiguration(\(shown.map { "\($0.label): \($0.value)" }.joined(separator: ", ")))"
  }

  public var debugDescription: String { description }

  public var customMirror: Mirror {
    Mirror(self, children: shown.map { (Optional($0.label), $0.value) }, displayStyle: .struct)
  }
}
