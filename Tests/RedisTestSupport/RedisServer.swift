package import Foundation
package import LMDBCachingRedis
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// A temporary server on a Unix socket in its own directory, without persistence. Ends with the object.
package final class RedisServer: @unchecked Sendable {
  // @unchecked: only the creating thread uses `process` and `port`.

  package let directory: URL
  private var process: LaunchedProcess?
  private let options: [String]
  private let listens: Bool
  /// The loopback port; 0 if none.
  package private(set) var port = 0

  /// - Parameter listens: Whether it also listens on a free loopback port.
  package init(_ options: String..., listens: Bool = false) throws {
    // The path of a socket must be short.
    directory = URL(fileURLWithPath: "/tmp/r-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    self.options = options
    self.listens = listens
    try start()
  }

  deinit {
    stop(SIGKILL)
    try? FileManager.default.removeItem(at: directory)
  }

  package var socket: String { directory.appendingPathComponent("s").path }

  package func start() throws {
    let executable = ["/usr/bin/redis-server", "/usr/local/bin/redis-server", "/opt/homebrew/bin/redis-server"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let executable else { throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: "redis-server"]) }
    let limit = Date(timeIntervalSinceNow: 300)
    repeat {
      if listens, port == 0 { port = Int.random(in: 20_000..<32_000) }
      if try launch(URL(fileURLWithPath: executable), until: limit) { return }
      // Another process has the port.
      stop(SIGKILL)
      port = 0
    } while listens && Date() < limit
    throw CocoaError(.executableLoad, userInfo: [NSFilePathErrorKey: executable])
  }

  private func launch(_ executable: URL, until limit: Date) throws -> Bool {
    // A replica saves its first synchronization, and would restart with those old values.
    let snapshot = directory.appendingPathComponent("dump.rdb")
    if FileManager.default.fileExists(atPath: snapshot.path) { try FileManager.default.removeItem(at: snapshot) }
    let log = directory.appendingPathComponent("log")
    _ = FileManager.default.createFile(atPath: log.path, contents: nil)
    let arguments =
      ["--port", "\(port)", "--bind", "127.0.0.1", "--unixsocket", socket, "--save", "", "--appendonly", "no"]
      + ["--dir", directory.path] + options
    let process = try LaunchedProcess(
      executable, arguments, input: .nullDevice, output: FileHandle(forWritingTo: log))
    self.process = process
    let tier = try tier()
    defer { tier.close() }
    while Date() < limit, process.tryWait() == nil {
      let reply = try? tier.sendAndWait([RemoteCommand(["PING"])], timeLimit: .seconds(5))
      // A server that requires a password or is still loading is up, too.
      if case .bytes? = reply?.first { return true }
      if case .error? = reply?.first { return true }
      usleep(5_000)
    }
    return false
  }

  package func stop(_ signal: Int32 = SIGTERM) {
    process?.signal(SIGCONT)
    process?.signal(signal)
    process?.wait()
    process = nil
  }

  package func suspend() { process?.signal(SIGSTOP) }
  package func resume() { process?.signal(SIGCONT) }

  package func tier() throws -> RedisTier { try RedisTier(RedisConfiguration(unixSocket: socket)) }

  /// Runs a command without the cache's connections.
  @discardableResult
  package func run(_ arguments: String...) throws -> RemoteReply { try run(arguments) }

  @discardableResult
  package func run(_ arguments: [String]) throws -> RemoteReply {
    let tier = try tier()
    defer { tier.close() }
    return try tier.sendAndWait([RemoteCommand(arguments.map { Data($0.utf8) })], timeLimit: .seconds(120))[0]
  }
}

extension RemoteCommand {
  package init(_ arguments: [String]) { self.init(arguments.map { Data($0.utf8) }) }
}
