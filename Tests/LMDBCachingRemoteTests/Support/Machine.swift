import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import TestSupport
import Testing

/// A fleet's machine: a directory and a cache.
final class Machine: Sendable {
  let directory: URL
  let cache: DistributedCache
  private let keepsDirectory: Bool

  init(
    _ remote: any RemoteTier, directory: URL? = nil, local: CacheConfiguration = CacheConfiguration(),
    settles: Bool = true, keepsDirectory: Bool = false,
    _ change: (inout DistributedCacheConfiguration) -> Void = { _ in }
  ) throws {
    self.keepsDirectory = keepsDirectory
    self.directory = directory ?? Self.newDirectory()
    var configuration = DistributedCacheConfiguration()
    // Generous, since tests share the machine.
    configuration.timeLimit = .seconds(300)
    change(&configuration)
    cache = try DistributedCache(
      local: LMDBCache(directory: self.directory, configuration: local), remote: remote, configuration: configuration)
    if settles { try settle() }
  }

  convenience init(
    _ server: RedisServer, socket: String? = nil, directory: URL? = nil,
    local: CacheConfiguration = CacheConfiguration(), settles: Bool = true, keepsDirectory: Bool = false,
    _ change: (inout DistributedCacheConfiguration) -> Void = { _ in }
  ) throws {
    try self.init(
      RedisTier(RedisConfiguration(unixSocket: socket ?? server.socket)), directory: directory, local: local,
      settles: settles, keepsDirectory: keepsDirectory, change)
  }

  deinit {
    cache.close(timeLimit: .zero)
    try? cache.local.close()
    if !keepsDirectory { try? FileManager.default.removeItem(at: directory) }
  }

  static func newDirectory() -> URL {
    FileManager.default.temporaryDirectory.appendingPathComponent("m-\(UUID().uuidString)")
  }

  /// The value that a new machine finds.
  static func find<V: Codable & Sendable>(_ type: V.Type, _ key: String, on server: RedisServer) throws -> V? {
    let machine = try Machine(server)
    return try withExtendedLifetime(machine) { try machine.cache.value(type, forKey: key) }
  }

  /// Waits until it follows the fleet and its values are known to be current.
  func settle() throws { try waitUntil { cache.health.isSettled } }
}

struct NotInTime: Error {}

/// Waits for a condition, five minutes at most.
func waitUntil(sourceLocation: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool) throws {
  if try eventually(within: .seconds(300), condition) { return }
  Issue.record("It has not come to that.", sourceLocation: sourceLocation)
  throw NotInTime()
}

/// Waits without blocking a thread.
func wait(
  sourceLocation: SourceLocation = #_sourceLocation, until condition: () throws -> Bool
) async throws {
  if try await becomesTrue(within: .seconds(300), condition) { return }
  Issue.record("It has not come to that.", sourceLocation: sourceLocation)
  throw NotInTime()
}
