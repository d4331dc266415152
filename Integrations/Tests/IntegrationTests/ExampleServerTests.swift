import Foundation
import Hummingbird
import LMDBCaching
import Testing

@testable import ExampleServer

@Suite struct ExampleServerTests {
  let scratch = Scratch()

  @Test func pagesAreMadeOnce() async throws {
    let cache = try scratch.cache()
    let router = ExampleServer.router(cache, delay: .milliseconds(1), isCached: true, lifetime: .seconds(36_000))
    try await LiveServer.with(router) { server in
      let first = try await server.send("GET", "/page/1").text
      let second = try await server.send("GET", "/page/1").text
      #expect(first == second && first.hasPrefix("<h1>Page 1</h1>"))
      #expect(try await server.send("POST", "/visits/ada").text == "1")
      #expect(try await server.send("POST", "/visits/ada").text == "2")
    }
    #expect(cache.statistics.loads == 1)
    try await cache.close()
  }
}
