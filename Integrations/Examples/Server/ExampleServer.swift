import ArgumentParser
import Foundation
import Hummingbird
import LMDBCaching
import LMDBCachingHummingbird
import LMDBCachingLifecycle
import Logging

/// A server with slow pages, cached on disk and in memory, and with persistent counters.
///
/// `GET /page/:number` makes a page or takes it from the cache; `POST /visits/:name` counts. Several processes on
/// different ports may share one cache.
@main
struct ExampleServer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "example-server")

  @Option(help: "The port on loopback.")
  var port = 8080
  @Option(help: "The cache's directory.")
  var directory = FileManager.default.temporaryDirectory.appendingPathComponent("example-server").path
  @Option(help: "How long making a page takes, in milliseconds.")
  var delay = 5
  @Flag(help: "Make every page anew.")
  var uncached = false

  func run() async throws {
    var logger = Logger(label: "example-server")
    logger.logLevel = .warning
    let cache = try await LMDBCache.open(directory: URL(fileURLWithPath: directory))
    let app = Application(
      router: Self.router(cache, delay: .milliseconds(delay), isCached: !uncached),
      configuration: ApplicationConfiguration(
        address: .hostname("127.0.0.1", port: port)),
      services: [CacheService(cache)], logger: logger)
    try await app.runService()
  }

  /// The routes, separate from the server for tests.
  ///
  /// - Parameter lifetime: How long a page is fresh. It is served for ten minutes more while a new one is made, or if
  ///   that fails.
  static func router(
    _ cache: LMDBCache, delay: Duration, isCached: Bool, lifetime: Duration = .seconds(60)
  ) -> Router<BasicRequestContext> {
    let router = Router()
    router.get("/page/:number") { _, context -> String in
      let number = try context.parameters.require("number", as: Int.self)
      if !isCached { return try await makePage(number, delay) }
      var options = LoadOptions()
      options.lifetime = lifetime
      options.staleWhileRevalidate = .seconds(600)
      options.failSafe = .seconds(600)
      return try await cache.value(String.self, forKey: "page:\(number)", options: options) { _ in
        try await makePage(number, delay)
      }
    }
    router.post("/visits/:name") { _, context -> String in
      let name = try context.parameters.require("name")
      return try String(cache.increment(forKey: "visits:\(name)"))
    }
    return router
  }

  private static func makePage(_ number: Int, _ delay: Duration) async throws -> String {
    try await Task.sleep(for: delay)
    return "<h1>Page \(number)</h1>" + String(repeating: "<p>It took a while to write this.</p>", count: 50)
  }
}
