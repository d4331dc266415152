import Dispatch
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Loads that need each other or themselves: every one of them ends.
@Suite(.timeLimit(.minutes(5))) struct LoadCircleTests {
  let directory = CacheDirectory()

  private static let limits: [Duration?] = [nil, .seconds(1_000)]

  private func options(_ limit: Duration?) -> LoadOptions {
    var options = LoadOptions()
    options.timeLimit = limit
    return options
  }

  /// Each caller needs the next one's key, and the last one the first's. Threads have a `t`.
  @Test(arguments: ["ttt", "aa", "aaaaa", "ta", "ttaa"], limits)
  func callersThatNeedEachOtherEnd(_ callers: String, _ limit: Duration?) async throws {
    let cache = try directory.open { $0.loadWaitLimit = .milliseconds(50) }
    let (options, count) = (options(limit), callers.count)
    let (arrived, found) = (Guarded(0), Guarded<[Int]>([]))
    for (number, caller) in callers.enumerated() {
      let next = "key\((number + 1) % count)"
      if caller == "t" {
        inBackground(DispatchGroup()) {
          let value = try? cache.value(Int.self, forKey: "key\(number)", options: options) { _ in
            arrived { $0 += 1 }
            #expect(eventually { arrived.current >= count })
            return try cache.value(Int.self, forKey: next, options: options) { _ in 5 }
          }
          found { $0.append(value ?? -1) }
        }
        continue
      }
      Task {
        let value = try? await cache.value(Int.self, forKey: "key\(number)", options: options) {
          _ async throws -> Int in
          arrived { $0 += 1 }
          while arrived.current < count { await Task.yield() }
          return try await cache.value(Int.self, forKey: next, options: options) { _ async throws -> Int in 5 }
        }
        found { $0.append(value ?? -1) }
      }
    }
    #expect(try await becomesTrue { found.current.count == count })
    #expect(found.current.allSatisfy { $0 == 5 })
    try await cache.close()
  }

  @Test(arguments: limits) func aLoadThatNeedsItselfIsAnError(_ limit: Duration?) async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let options = options(limit)
    @Sendable func load(_ key: Int) throws -> Int {
      try cache.value(Int.self, forKey: "key\(key)", options: options) { _ in try load(1 - key) }
    }
    @Sendable func loadInTask(_ key: Int) async throws -> Int {
      try await cache.value(Int.self, forKey: "task\(key)", options: options) { _ in try await loadInTask(1 - key) }
    }
    #expect(errorCode { try load(0) } == .recursiveLoad)
    #expect(await errorCode { try await loadInTask(0) } == .recursiveLoad)
    let hop = DispatchQueue(label: "hop")
    let onOtherQueue = errorCode {
      try cache.value(Int.self, forKey: "queue") { _ in
        try hop.sync { try cache.value(Int.self, forKey: "queue", load: { _ in 1 }) }
      }
    }
    #expect(onOtherQueue == .recursiveLoad)
    #expect(try await cache.value(Int.self, forKey: "key0") { _ in 1 } == 1)
    #expect(try await cache.value(Int.self, forKey: "task1") { _ in 1 } == 1)
    try await cache.close()
  }

  /// Only the limit shows whether the load waits for its child task.
  @Test func aLoadWhoseChildTaskNeedsItIsAnError() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .milliseconds(50) }
    let code = await errorCode {
      try await cache.value(Int.self, forKey: "key") { _ in
        async let inner = cache.value(Int.self, forKey: "key") { _ in 1 }
        return try await inner + 1
      }
    }
    #expect(code == .recursiveLoad)
    try await cache.close()
  }

  // MARK: Tasks that a load starts

  /// A task that a load starts but does not await is not part of the load: it waits like any caller, and may outlive it.
  @Test func aTaskStartedInALoadIsAnotherCaller() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let (loads, mayAsk) = (Guarded(0), Guarded(false))
    let inner = Guarded<[Task<Int, any Error>]>([])
    let value = try await cache.value(Int.self, forKey: "key") { _ in
      for number in 2...3 {
        let task = Task {
          while number == 3, !mayAsk.current { await Task.yield() }
          return try await cache.value(Int.self, forKey: "key") { _ in
            loads { $0 += 1 }
            return number
          }
        }
        inner { $0.append(task) }
      }
      let waits = try await becomesTrue { cache.store.flights.waiterCount(ByteKey("key")) == 2 }
      #expect(waits)
      return 1
    }
    #expect(value == 1)
    #expect(try await inner.current[0].value == 1)
    #expect(loads.current == 0)
    try cache.removeValue(forKey: "key")
    mayAsk { $0 = true }
    #expect(try await inner.current[1].value == 3)
    #expect(try cache.value(Int.self, forKey: "key") == 3)
    try await cache.close()
  }
}
