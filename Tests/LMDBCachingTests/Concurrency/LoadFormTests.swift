import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// Both forms of loading in every context; mainly a test that it compiles.
@Suite struct LoadFormTests {
  let directory = CacheDirectory()
  struct Failure: Error {}

  private struct Profile: Codable, Sendable, Equatable { var name: String }

  /// Where a load runs.
  private enum Place: Codable { case thread, pool }

  /// That of a task without a preference.
  private static let pool = withUnsafeCurrentTask { $0?.unownedTaskExecutor }

  // In the test's own task, before any load.
  init() { _ = Self.pool }

  private static var here: Place {
    withUnsafeCurrentTask { $0?.unownedTaskExecutor } == pool ? .pool : .thread
  }
  private static func load(_: inout LoadContext) throws -> Place { here }
  private static func fetch(_: inout LoadContext) async throws -> Place { here }
  private static func quickly() -> Place { here }

  @Test func inSynchronousCode() throws {
    let cache = try directory.open()
    let profile = try cache.value(Profile.self, forKey: "1") { _ in Profile(name: "Grace") }
    let options = LoadOptions(lifetime: .seconds(60))
    let thread = try cache.value(UInt.self, forKey: "2", options: options) { _ in PlatformThread.current }
    let inferred: Place = try cache.value(forKey: "3") { _ in Self.quickly() }
    let reference = try cache.value(Place.self, forKey: "4", load: Self.load)
    #expect(profile.name == "Grace" && thread == PlatformThread.current)
    for place in [inferred, reference] { #expect(place == .thread) }
    #expect(throws: Failure.self) { try cache.value(Int.self, forKey: "5") { _ in throw Failure() } }
    try cache.close()
  }

  @Test func inATask() async throws {
    let cache = try directory.open()
    let profile = try await cache.value(Profile.self, forKey: "1") { _ in Profile(name: "Grace") }
    #expect(profile == Profile(name: "Grace"))
    #expect(try await cache.value(Place.self, forKey: "2") { _ in Self.quickly() } == .pool)
    #expect(try await cache.value(Place.self, forKey: "3") { context in try Self.load(&context) } == .pool)
    #expect(try await cache.value(Place.self, forKey: "4") { context in try await Self.fetch(&context) } == .pool)
    #expect(try await cache.value(Place.self, forKey: "5", load: Self.fetch) == .pool)
    #expect(try await cache.value(Place.self, forKey: "6", load: Self.load) == .pool)
    let inferred: Place = try await cache.value(forKey: "7", options: LoadOptions(lifetime: .seconds(60))) { _ in
      let place = Self.here
      return place
    }
    #expect(inferred == .pool)
    await #expect(throws: Failure.self) { try await cache.value(Place.self, forKey: "8") { _ in throw Failure() } }
    let unstructured = Task { try await cache.value(Place.self, forKey: "9") { _ in Self.quickly() } }
    #expect(try await unstructured.value == .pool)
    let detached = Task.detached {
      try await cache.value(Place.self, forKey: "10") { context in try Self.load(&context) }
    }
    #expect(try await detached.value == .pool)
    async let child = cache.value(Place.self, forKey: "11") { _ in Self.quickly() }
    #expect(try await child == .pool)
    func here() throws -> Place { try cache.value(Place.self, forKey: "12") { _ in Self.quickly() } }
    #expect(try here() == .thread)
    try await cache.close()
  }

  @MainActor @Test func onTheMainActor() async throws {
    let cache = try directory.open()
    #expect(try await cache.value(Place.self, forKey: "1") { _ in Self.quickly() } == .pool)
    #expect(try await cache.value(Place.self, forKey: "2") { context in try await Self.fetch(&context) } == .pool)
    let task = Task { @MainActor in
      try await cache.value(Place.self, forKey: "3") { context in try Self.load(&context) }
    }
    #expect(try await task.value == .pool)
    try await cache.close()
  }

  private actor Owner {
    let cache: LMDBCache
    var count = 0

    init(_ cache: LMDBCache) { self.cache = cache }

    func asynchronously() async throws -> [Place] {
      count += 1
      let first = try await cache.value(Place.self, forKey: "1") { _ in LoadFormTests.quickly() }
      let second = try await cache.value(Place.self, forKey: "2") { context in try await LoadFormTests.fetch(&context) }
      return [first, second]
    }

    /// The synchronous closure may run concurrently with its caller, so it captures actor state by value.
    func synchronously() throws -> Int { try cache.value(Int.self, forKey: "3") { [count] _ in count } }
  }

  @Test func inAnActor() async throws {
    let cache = try directory.open()
    let owner = Owner(cache)
    for place in try await owner.asynchronously() { #expect(place == .pool) }
    #expect(try await owner.synchronously() == 1)
    try await cache.close()
  }
}
