import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// A load's closure runs on the right thread, with its caller's task-local values.
@Suite struct LoadPlaceTests {
  private enum Surroundings {
    @TaskLocal static var name = "none"
  }

  /// Where a load runs.
  private enum Place: Codable { case thread, pool }

  let directory = CacheDirectory()
  let clock = ManualClock()

  /// That of a task without a preference.
  private static let pool = withUnsafeCurrentTask { $0?.unownedTaskExecutor }

  // In the test's own task, before any load.
  init() { _ = Self.pool }

  private func open() throws -> LMDBCache {
    try directory.open {
      $0.clock = .manual(clock)
      $0.loadWaitLimit = .seconds(3_600)
    }
  }

  private static var here: Place {
    withUnsafeCurrentTask { $0?.unownedTaskExecutor } == pool ? .pool : .thread
  }
  private static func load(_: inout LoadContext) throws -> Place { here }
  private static func fetch(_: inout LoadContext) async throws -> Place { here }
  private static func quickly() -> Place { here }

  // MARK: Threads and tasks

  @Test func inSynchronousCode() throws {
    let cache = try open()
    let thread = try cache.value(UInt.self, forKey: "1", options: LoadOptions(lifetime: .seconds(60))) { _ in
      PlatformThread.current
    }
    let inferred: Place = try cache.value(forKey: "2") { _ in Self.quickly() }
    #expect(thread == PlatformThread.current && inferred == .thread)
    #expect(try cache.value(Place.self, forKey: "3", load: Self.load) == .thread)
    try cache.close()
  }

  @Test func inATask() async throws {
    let cache = try open()
    #expect(try await cache.value(Place.self, forKey: "1") { context in try Self.load(&context) } == .pool)
    #expect(try await cache.value(Place.self, forKey: "2", load: Self.fetch) == .pool)
    #expect(try await cache.value(Place.self, forKey: "3", load: Self.load) == .pool)
    let inferred: Place = try await cache.value(forKey: "4") { _ in Self.quickly() }
    #expect(inferred == .pool)
    async let child = cache.value(Place.self, forKey: "5") { _ in Self.quickly() }
    #expect(try await child == .pool)
    func here() throws -> Place { try cache.value(Place.self, forKey: "6") { _ in Self.quickly() } }
    #expect(try here() == .thread)
    try await cache.close()
  }

  // MARK: Task-local values

  private static let kinds: [@Sendable (inout LoadOptions) -> Void] = [
    { _ in }, { $0.timeLimit = .seconds(60) }, { $0.failSafe = .seconds(100) },
    { $0.staleWhileRevalidate = .seconds(10) },
  ]

  private func found(_ cache: LMDBCache, _ options: LoadOptions, isTask: Bool) async throws -> String {
    if isTask {
      return try await Surroundings.$name.withValue("the caller's") {
        try await cache.value(String.self, forKey: "key", options: options) { _ async throws -> String in
          Surroundings.name
        }
      }
    }
    return try blocking {
      try Surroundings.$name.withValue("the caller's") {
        try cache.value(String.self, forKey: "key", options: options) { _ in Surroundings.name }
      }
    }
  }

  /// A load, and a refresh in the background, see task-local values such as a parent span on any thread.
  @Test(arguments: kinds.indices, [false, true]) func aLoadHasItsCallersValues(
    _ kind: Int, _ isTask: Bool
  ) async throws {
    let cache = try open()
    var options = LoadOptions(lifetime: .seconds(10))
    Self.kinds[kind](&options)
    if kind == 3 {
      #expect(try blocking { try cache.value(String.self, forKey: "key", options: options) { _ in "old" } } == "old")
      clock.advance(by: .seconds(15))
      #expect(try await found(cache, options, isTask: isTask) == "old")
      #expect(
        try await becomesTrue(within: .seconds(600)) { try cache.value(String.self, forKey: "key") == "the caller's" })
    } else {
      #expect(try await found(cache, options, isTask: isTask) == "the caller's")
    }
    try await cache.close()
  }
}
