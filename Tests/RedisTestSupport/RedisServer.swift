package import Foundation
package import LMDBCachingRedis
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// A server of a test's or a trial's own, on a Unix socket in a directory of its own, that writes nothing to the disk. It
/// ends with the object.
package final class RedisServer: @unchecked Sendable {
  // @unchecked: `process` is of the thread that made it.

  package let directory: URL
  private var process: LaunchedProcess?
  private let options: [String]

  package init(_ options: String...) throws {
    // Sockets have short names.
    directory = URL(fileURLWithPath: "/tmp/r-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    self.options = options
    try start()
  }

  deinit {
    stop(SIGKILL)
    try? FileManager.default.removeItem(at: directory)
  }

  package var socket: String { directory.appendingPathComponent("s").path }

  package func start() throws {
    let log = directory.appendingPathComponent("log")
    _ = FileManager.default.createFile(atPath: log.path, contents: nil)
    let executable = ["/usr/bin/redis-server", "/usr/local/bin/redis-server", "/opt/homebrew/bin/redis-server"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let executable else { throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: "redis-server"]) }
    let arguments =
      ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", directory.path] + options
    process = try LaunchedProcess(
      URL(fileURLWithPath: executable), arguments, input: .nullDevice, output: FileHandle(forWritingTo: log))
    let limit = Date(timeIntervalSinceNow: 20)
    while (try? tier().sendAndWait([RemoteCommand(["PING"])], timeLimit: .seconds(5))) != [.bytes(Data("PONG".utf8))] {
      guard Date() < limit else { throw CocoaError(.executableLoad, userInfo: [NSFilePathErrorKey: executable]) }
      usleep(5_000)
    }
  }

  /// Ends it: what it held is gone.
  package func stop(_ signal: Int32 = SIGTERM) {
    process?.signal(SIGCONT)
    process?.signal(signal)
    process?.wait()
    process = nil
  }

  package func suspend() { process?.signal(SIGSTOP) }
  package func resume() { process?.signal(SIGCONT) }

  package func tier() throws -> RedisTier { try RedisTier(RedisConfiguration(unixSocket: socket)) }

  /// Runs a command as an operator would.
  @discardableResult
  package func run(_ arguments: String...) throws -> RemoteReply {
    let tier = try tier()
    defer { tier.close() }
    return try tier.sendAndWait([RemoteCommand(arguments.map { Data($0.utf8) })], timeLimit: .seconds(10))[0]
  }
}

extension RemoteCommand {
  package init(_ arguments: [String]) { self.init(arguments.map { Data($0.utf8) }) }
}
