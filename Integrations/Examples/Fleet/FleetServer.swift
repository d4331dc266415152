import ArgumentParser
import Foundation
import Hummingbird
import LMDBCaching
import LMDBCachingRedis
import Logging

/// One server of a fleet. Pages are slow to make: the first server asked for a page makes it, and the others get it
/// from Redis. Each server keeps its pages in memory and in a directory.
///
/// `GET /page/:number` makes a page or takes it from the cache. `PUT` replaces its text, and `DELETE` removes it, on
/// every server. `GET /health` reports the state of this server and of Redis.
@main
struct FleetServer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "fleet-server")

  @Option(help: "The port on loopback.")
  var port = 8080
  @Option(help: "What the pages call this server. (default: server-PORT)")
  var name: String?
  @Option(help: "The cache's directory, of this server alone. (default: of that name, in the temporary directory)")
  var directory: String?
  @Option(help: "The path of Redis's Unix socket, instead of a host and a port.")
  var redisSocket: String?
  @Option(help: "Redis's host.")
  var redisHost = "127.0.0.1"
  @Option(help: "Redis's port.")
  var redisPort = 6379
  @Option(help: "How long making a page takes, in milliseconds.")
  var delay = 500

  func run() async throws {
    var logger = Logger(label: "fleet-server")
    logger.logLevel = .warning
    let name = name ?? "server-\(port)"
    let path = directory ?? FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    var local = CacheConfiguration()
    local.logger = logger
    let redis =
      redisSocket.map { RedisConfiguration(unixSocket: $0) } ?? RedisConfiguration(host: redisHost, port: redisPort)
    // The server also starts without Redis, and connects later.
    let cache = try DistributedCache(
      local: LMDBCache(directory: URL(fileURLWithPath: path), configuration: local), remote: RedisTier(redis))
    let app = Application(
      router: Self.router(cache, name: name, delay: .milliseconds(delay)),
      configuration: ApplicationConfiguration(
        address: .hostname("127.0.0.1", port: port)),
      services: [FleetCacheService(cache: cache)], logger: logger)
    try await app.runService()
  }

  /// The routes, separate from the server for tests.
  ///
  /// - Parameter lifetime: How long a page is fresh. It is served for ten minutes more if making a new one fails.
  static func router(
    _ cache: DistributedCache, name: String, delay: Duration, lifetime: Duration = .seconds(60)
  ) -> Router<BasicRequestContext> {
    let router = Router()
    router.get("/page/:number") { _, context -> String in
      let number = try context.parameters.require("number", as: Int.self)
      var options = LoadOptions()
      options.lifetime = lifetime
      options.failSafe = .seconds(600)
      return try await cache.value(String.self, forKey: key(number), options: options) { _ in
        try await Task.sleep(for: delay)
        return "<h1>Page \(number)</h1><p>Made by \(name).</p>"
      }
    }
    router.put("/page/:number") { request, context -> HTTPResponse.Status in
      let number = try context.parameters.require("number", as: Int.self)
      let text = String(buffer: try await request.body.collect(upTo: context.maxUploadSize))
      return try await written { try await cache.set(text, forKey: key(number)) }
    }
    router.delete("/page/:number") { _, context -> HTTPResponse.Status in
      let number = try context.parameters.require("number", as: Int.self)
      return try await written { try await cache.removeValue(forKey: key(number)) }
    }
    router.get("/health") { _, _ in HealthReport(cache) }
    return router
  }

  private static func key(_ number: Int) -> String { "page:\(number)" }

  /// Without Redis the other servers would miss a write: the client gets an error and may retry.
  private static func written(_ write: () async throws -> Void) async throws -> HTTPResponse.Status {
    do {
      try await write()
      return .noContent
    } catch let error as RemoteTierError {
      throw HTTPError(.serviceUnavailable, message: error.description)
    }
  }
}
