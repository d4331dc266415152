import Foundation
import Hummingbird
import HummingbirdTesting
import LMDBCaching
import Testing

@testable import ExampleServer

/// The example does what it is to show.
@Suite struct ExampleServerTests {
  let scratch = Scratch()

  @Test func pagesAreMadeOnce() async throws {
    let cache = try scratch.cache()
    let app = Application(router: ExampleServer.router(cache, delay: .milliseconds(1), isCached: true))
    try await app.test(.router) { client in
      let first = try await client.execute(uri: "/page/1", method: .get) { String(buffer: $0.body) }
      let second = try await client.execute(uri: "/page/1", method: .get) { String(buffer: $0.body) }
      #expect(first == second && first.hasPrefix("<h1>Page 1</h1>"))
      #expect(try await client.execute(uri: "/visits/ada", method: .post) { String(buffer: $0.body) } == "1")
      #expect(try await client.execute(uri: "/visits/ada", method: .post) { String(buffer: $0.body) } == "2")
    }
    #expect(cache.statistics.loads == 1)
    try await cache.close()
  }
}
