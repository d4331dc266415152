import Foundation
import LMDBCachingRedis

/// A temporary server on a Unix socket, without persistence.
final class RedisProcess {
  static let executable = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]
    .map { URL(fileURLWithPath: $0).appendingPathComponent("redis-server") }
    .first { FileManager.default.isExecutableFile(atPath: $0.path) }

  let socket: String
  private let process = Process()
  private let directory: URL

  init() throws {
    // The path of a socket must be short.
    directory = URL(fileURLWithPath: "/tmp/redis-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    socket = directory.appendingPathComponent("s").path
    process.executableURL = Self.executable
    process.arguments = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", directory.path]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let limit = Date(timeIntervalSinceNow: 60)
    while try !answers() {
      guard process.isRunning, Date() < limit else {
        stop()
        throw WorkloadError("redis-server did not start.")
      }
      usleep(5_000)
    }
  }

  private func answers() throws -> Bool {
    let tier = try tier()
    defer { tier.close() }
    do {
      _ = try tier.sendAndWait([RemoteCommand([Data("PING".utf8)])], timeLimit: .seconds(1))
      return true
    } catch {
      return false
    }
  }

  deinit { stop() }

  func tier() throws -> RedisTier { try RedisTier(RedisConfiguration(unixSocket: socket)) }

  func stop() {
    defer { try? FileManager.default.removeItem(at: directory) }
    guard process.isRunning else { return }
    // If a pool's thread started it, it inherited that thread's blocked signals.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Runs redis-benchmark against it: 50 connections, 16 commands in flight on each.
  func runBenchmark(gets: Int, keys: Int) throws {
    let benchmark = Process()
    benchmark.executableURL = Self.executable?.deletingLastPathComponent().appendingPathComponent("redis-benchmark")
    benchmark.arguments = ["-s", socket, "-P", "16", "-n", "\(gets)", "-r", "\(keys)", "-q", "GET", "key:__rand_int__"]
    benchmark.standardOutput = FileHandle.nullDevice
    try benchmark.run()
    benchmark.waitUntilExit()
    guard benchmark.terminationStatus == 0 else { throw WorkloadError("redis-benchmark failed.") }
  }
}
