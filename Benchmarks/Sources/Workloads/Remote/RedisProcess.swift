import Foundation
import LMDBCachingRedis

/// A server of a workload's own, on a Unix socket, that writes nothing to the disk.
final class RedisProcess {
  static let executable = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"]
    .map { URL(fileURLWithPath: $0).appendingPathComponent("redis-server") }
    .first { FileManager.default.isExecutableFile(atPath: $0.path) }

  let socket: String
  private let process = Process()
  private let directory: URL

  init() throws {
    // The names of sockets are short.
    directory = URL(fileURLWithPath: "/tmp/redis-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    socket = directory.appendingPathComponent("s").path
    process.executableURL = Self.executable
    process.arguments = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", directory.path]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let tier = try tier()
    defer { tier.close() }
    for _ in 0..<12_000 {
      guard process.isRunning else { break }
      do {
        _ = try tier.sendAndWait([RemoteCommand([Data("PING".utf8)])], timeLimit: .seconds(1))
        return
      } catch {
        // It is starting.
        usleep(5_000)
      }
    }
    throw WorkloadError("redis-server does not answer.")
  }

  deinit { stop() }

  func tier() throws -> RedisTier { try RedisTier(RedisConfiguration(unixSocket: socket)) }

  func stop() {
    guard process.isRunning else { return }
    // It may have been started by a thread of a pool, which has other signals blocked, and has inherited that.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: directory)
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
