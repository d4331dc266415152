import Foundation
import Hummingbird
import NIOCore
import ServiceLifecycle

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A server on a free port, and its client.
struct LiveServer: Sendable {
  struct Answer { let (status, text): (Int, String) }

  private let port: Int
  private let session: URLSession

  func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> Answer {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.httpBody = body.map { Data($0.utf8) }
    let (data, response) = try await session.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    return Answer(status: response.statusCode, text: String(decoding: data, as: UTF8.self))
  }

  /// Runs a server and `services` while `body` runs.
  static func with(
    _ router: Router<BasicRequestContext>, services: [any Service] = [],
    _ body: @escaping @Sendable (LiveServer) async throws -> Void
  ) async throws {
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let app = Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      services: services,
      onServerRunning: { channel in
        if let number = channel.localAddress?.port { port.yield(number) }
        port.finish()
      })
    let group = ServiceGroup(services: [app], logger: app.logger)
    try await withThrowingTaskGroup { tasks in
      tasks.addTask {
        // Also ends the wait if the server cannot be started.
        defer { port.finish() }
        try await group.run()
      }
      if let port = await ports.first(where: { _ in true }) {
        let session = URLSession(configuration: .ephemeral)
        let result: Result<Void, any Error>
        do {
          result = .success(try await body(LiveServer(port: port, session: session)))
        } catch {
          result = .failure(error)
        }
        session.invalidateAndCancel()
        await group.triggerGracefulShutdown()
        try result.get()
      }
      try await tasks.waitForAll()
    }
  }
}
