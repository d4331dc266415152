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
  /// The most connections for blocking threads, 8 by default, from 1 to 1,024; further threads wait for a free one.
  /// Tasks share one additional, pipelined connection.
  public var connections = 8
  /// The time limit for connecting and authenticating: 5 s by default, from 1 ms to an hour. Includes the host name
  /// lookup, which the system does not interrupt. A request waits only for its own time limit; the connection then
  /// serves the next one.
  public var connectTimeLimit = Duration.seconds(5)
  /// The connections' name in the server's client list: 1 to 64 letters, digits and hyphens.
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
    try check(
      !clientName.isEmpty && clientName.utf8.count <= 64
        && clientName.utf8.allSatisfy {
          UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 || 0x30...0x39 ~= $0 || $0 == 0x2D
        },
      "The name of a client has 1 to 64 letters, digits and hyphens; \"\(clientName)\" does not.")
  }

  /// A server's message, which may quote the password, without it.
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
