import Foundation
import LMDBCachingRedis

/// A temporary redis-server on a Unix socket. Ends with the object.
final class RedisProcess: Sendable {
  // The path of a socket must be short.
  private let directory = URL(fileURLWithPath: "/tmp/r-\(UUID().uuidString.prefix(8))")
  private let process = Process()

  init() throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", directory.path,
    ]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let tier = try tier()
    defer { tier.close() }
    let limit = Date(timeIntervalSinceNow: 300)
    while true {
      do {
        _ = try tier.sendAndWait([RemoteCommand([Data("PING".utf8)])], timeLimit: .seconds(5))
        return
      } catch {
        // Not a condition of the catch, which crashes the compilers of Swift 6.3.
        guard process.isRunning, Date() < limit else { throw error }
        usleep(5_000)
      }
    }
  }

  deinit {
    kill()
    try? FileManager.default.removeItem(at: directory)
  }

  private var socket: String { directory.appendingPathComponent("s").path }

  func tier() throws -> RedisTier { try RedisTier(RedisConfiguration(unixSocket: socket)) }

  func kill() {
    guard process.isRunning else { return }
    _ = Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
