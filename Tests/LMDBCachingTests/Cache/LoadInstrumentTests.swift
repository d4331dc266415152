import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct LoadInstrumentTests {
  let directory = CacheDirectory()

  /// Records its events, and sets a task-local value for the closure.
  private final class Notebook: LoadInstrument {
    @TaskLocal static var key: String?
    let lines = Mutex<[String]>([])

    func note(_ line: String) { lines.withLock { $0.append(line) } }

    nonisolated(nonsending) func load<R>(
      key: String, directory: String, _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
      note("begin \(key)")
      defer { note("end \(key)") }
      return try await Self.$key.withValue(key) { try await body() }
    }
  }

  private struct Failure: Error {}

  @Test func everyLoadRunsInside() throws {
    let notebook = Notebook()
    let cache = try directory.open { $0.loadInstrument = notebook }
    #expect(try cache.value(String.self, forKey: "a") { _ in Notebook.key! } == "a")
    #expect(try cache.value(String.self, forKey: "a") { _ in "no load" } == "a")
    #expect(try cache.value(String.self, forKey: "b", options: LoadOptions()) { _ in Notebook.key! } == "b")
    #expect(throws: Failure.self) { try cache.value(String.self, forKey: "c") { _ in throw Failure() } }
    #expect(
      notebook.lines.withLock { $0 } == ["begin a", "end a", "begin b", "end b", "begin c", "end c"])
    #expect(cache.statistics.loads == 3 && cache.statistics.failedLoads == 1)
    try cache.close()
  }

  @Test func thoseOfTasksToo() async throws {
    let notebook = Notebook()
    let cache = try directory.open { $0.loadInstrument = notebook }
    #expect(try await cache.value(String.self, forKey: "a") { _ in await Task { Notebook.key! }.value } == "a")
    #expect(try await cache.value(String.self, forKey: "b", options: LoadOptions()) { _ in Notebook.key! } == "b")
    await #expect(throws: Failure.self) { try await cache.value(String.self, forKey: "c") { _ in throw Failure() } }
    #expect(
      notebook.lines.withLock { $0 } == [
        "begin a", "end a", "begin b", "end b", "begin c", "end c",
      ])
    try await cache.close()
  }
}
