import TestSupport
import Testing

@testable import LMDBCaching

/// Both forms of loading in every context; mainly a test that it compiles.
@Suite struct LoadFormTests {
  let directory = CacheDirectory()
  struct Failure: Error {}

  private struct Profile: Codable, Sendable, Equatable { var name: String }

  /// The current task; 0 if none.
  private static var currentTask: Int { withUnsafeCurrentTask { $0?.hashValue } ?? 0 }
  private static func load() throws -> Int { currentTask }
  private static func fetch() async throws -> Int { currentTask }
  private static func quickly() -> Int { currentTask }

  private func expectAsynchronous(_ task: Int, _ location: SourceLocation = #_sourceLocation) {
    #expect(task != Self.currentTask && task != 0, sourceLocation: location)
  }

  @Test func inSynchronousCode() throws {
    let cache = try directory.open()
    let profile = try cache.value(Profile.self, forKey: "1") { Profile(name: "Grace") }
    let task = try cache.value(Int.self, forKey: "2", expires: .after(.seconds(60))) { try Self.load() }
    let inferred: Int = try cache.value(forKey: "3") { Self.quickly() }
    let reference = try cache.value(Int.self, forKey: "4", load: Self.load)
    #expect(profile.name == "Grace")
    // Runs in the calling task.
    for value in [task, inferred, reference] { #expect(value == Self.currentTask) }
    #expect(throws: Failure.self) { try cache.value(Int.self, forKey: "5") { throw Failure() } }
    try cache.close()
  }

  @Test func inATask() async throws {
    let cache = try directory.open()
    let profile = try await cache.value(Profile.self, forKey: "1") { Profile(name: "Grace") }
    #expect(profile == Profile(name: "Grace"))
    expectAsynchronous(try await cache.value(Int.self, forKey: "2") { Self.quickly() })
    expectAsynchronous(try await cache.value(Int.self, forKey: "3") { try Self.load() })
    expectAsynchronous(try await cache.value(Int.self, forKey: "4") { try await Self.fetch() })
    expectAsynchronous(try await cache.value(Int.self, forKey: "5", load: Self.fetch))
    expectAsynchronous(try await cache.value(Int.self, forKey: "6", load: Self.load))
    let inferred: Int = try await cache.value(forKey: "7", expires: .after(.seconds(60)), cost: 1) {
      let task = Self.currentTask
      return task
    }
    expectAsynchronous(inferred)
    await #expect(throws: Failure.self) { try await cache.value(Int.self, forKey: "8") { throw Failure() } }
    let unstructured = Task { try await cache.value(Int.self, forKey: "9") { Self.quickly() } }
    expectAsynchronous(try await unstructured.value)
    let detached = Task.detached { try await cache.value(Int.self, forKey: "10") { try Self.load() } }
    expectAsynchronous(try await detached.value)
    async let child = cache.value(Int.self, forKey: "11") { Self.quickly() }
    expectAsynchronous(try await child)
    func here() throws -> Int { try cache.value(Int.self, forKey: "12") { Self.quickly() } }
    #expect(try here() == Self.currentTask)
    try await cache.close()
  }

  @MainActor @Test func onTheMainActor() async throws {
    let cache = try directory.open()
    expectAsynchronous(try await cache.value(Int.self, forKey: "1") { Self.quickly() })
    expectAsynchronous(try await cache.value(Int.self, forKey: "2") { try await Self.fetch() })
    let task = Task { @MainActor in try await cache.value(Int.self, forKey: "3") { try Self.load() } }
    expectAsynchronous(try await task.value)
    try await cache.close()
  }

  private actor Owner {
    let cache: LMDBCache
    var count = 0

    init(_ cache: LMDBCache) { self.cache = cache }

    func asynchronously() async throws -> [Int] {
      count += 1
      let first = try await cache.value(Int.self, forKey: "1") { LoadFormTests.quickly() }
      let second = try await cache.value(Int.self, forKey: "2") { try await LoadFormTests.fetch() }
      return [first, second]
    }

    /// The synchronous closure may run concurrently with its caller, so it captures actor state by value.
    func synchronously() throws -> Int { try cache.value(Int.self, forKey: "3") { [count] in count } }
  }

  @Test func inAnActor() async throws {
    let cache = try directory.open()
    let owner = Owner(cache)
    for task in try await owner.asynchronously() { expectAsynchronous(task) }
    #expect(try await owner.synchronously() == 1)
    try await cache.close()
  }
}
