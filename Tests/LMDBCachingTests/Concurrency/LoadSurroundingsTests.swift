import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// A load sees its caller's task-local values, such as a parent span, on any thread.
@Suite struct LoadSurroundingsTests {
  private enum Surroundings {
    @TaskLocal static var name = "nobody's"
  }

  let directory = CacheDirectory()
  let clock = ManualClock()

  private func open() throws -> LMDBCache {
    try directory.open {
      $0.clock = .manual(clock)
      $0.loadWaitLimit = .seconds(3_600)
    }
  }

  private static let kinds: [@Sendable (inout LoadOptions) -> Void] = [
    { _ in }, { $0.timeLimit = .seconds(60) }, { $0.failSafe = .seconds(100) },
  ]

  private func found(_ cache: LMDBCache, _ options: LoadOptions, isTask: Bool) async throws -> String {
    if isTask {
      return try await Surroundings.$name.withValue("the caller's") {
        try await cache.value(String.self, forKey: "key", options: options) { _ async throws -> String in
          Surroundings.name
        }
      }
    }
    return try sync {
      try Surroundings.$name.withValue("the caller's") {
        try cache.value(String.self, forKey: "key", options: options) { _ in Surroundings.name }
      }
    }
  }

  // Keeps the compiler from choosing the asynchronous form.
  private func sync<R>(_ body: () throws -> R) throws -> R { try body() }

  @Test(arguments: [0, 1, 2], [false, true]) func aLoadHasThem(_ kind: Int, _ isTask: Bool) async throws {
    let cache = try open()
    var options = LoadOptions(lifetime: .seconds(10))
    Self.kinds[kind](&options)
    #expect(try await found(cache, options, isTask: isTask) == "the caller's")
    try await cache.close()
  }

  @Test func aThreadHasThem() throws {
    let cache = try open()
    var options = LoadOptions(lifetime: .seconds(10))
    options.timeLimit = .seconds(60)
    let result = Guarded("")
    concurrently(1) { [options] _ in
      let name = Surroundings.$name.withValue("the thread's") {
        try? cache.value(String.self, forKey: "key", options: options) { _ in Surroundings.name }
      }
      result { $0 = name ?? "none" }
    }
    #expect(result.current == "the thread's")
    try cache.close()
  }

  @Test(arguments: [false, true]) func aRefreshHasThem(_ isTask: Bool) async throws {
    let cache = try open()
    var options = LoadOptions(lifetime: .seconds(10))
    options.staleWhileRevalidate = .seconds(10)
    try cache.set("old", forKey: "key")
    try cache.removeValue(forKey: "key")
    #expect(try sync { try cache.value(String.self, forKey: "key", options: options) { _ in "old" } } == "old")
    clock.advance(by: .seconds(15))
    #expect(try await found(cache, options, isTask: isTask) == "old")
    #expect(
      try await becomesTrue(within: .seconds(600)) { try cache.value(String.self, forKey: "key") == "the caller's" })
    try await cache.close()
  }

  @Test func aLoadThatNeedsItselfIsAnErrorWithATimeLimit() async throws {
    let cache = try open()
    var options = LoadOptions()
    options.timeLimit = .seconds(1_000)
    let (started, limited) = (Guarded(0), options)
    @Sendable func load() throws -> Int {
      try cache.value(Int.self, forKey: "key", options: limited) { _ in
        started { $0 += 1 }
        return try load()
      }
    }
    @Sendable func loadInTask() async throws -> Int {
      try await cache.value(Int.self, forKey: "task", options: limited) { _ async throws -> Int in
        started { $0 += 1 }
        return try await loadInTask()
      }
    }
    #expect(errorCode { try load() } == .recursiveLoad)
    #expect(await errorCode { try await loadInTask() } == .recursiveLoad)
    #expect(started.current == 2)
    try await cache.close()
  }

  /// A blocking load must not hold a pool thread.
  @Test func aLoadBesideItsCallerHoldsNoThreadOfThePool() async throws {
    let cache = try open()
    var options = LoadOptions(lifetime: .seconds(10))
    options.staleWhileRevalidate = .seconds(100)
    let isReleased = Guarded(false)
    for number in 0..<32 {
      #expect(try sync { try cache.value(Int.self, forKey: "\(number)", options: options) { _ in 1 } } == 1)
    }
    clock.advance(by: .seconds(20))
    for number in 0..<32 {
      let value = try sync {
        try cache.value(Int.self, forKey: "\(number)", options: options) { _ in
          _ = eventually { isReleased.current }
          return 2
        }
      }
      #expect(value == 1)
    }
    // With every pool thread blocked, none of this would proceed.
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 { group.addTask { await Task.yield() } }
    }
    isReleased { $0 = true }
    #expect(
      try await becomesTrue(within: .seconds(600)) {
        try (0..<32).allSatisfy { try cache.value(Int.self, forKey: "\($0)") == 2 }
      })
    try await cache.close()
  }
}
