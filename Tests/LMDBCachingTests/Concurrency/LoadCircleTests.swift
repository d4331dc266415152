import Foundation
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite(.timeLimit(.minutes(5))) struct LoadCircleTests {
  let directory = CacheDirectory()

  private static let limits: [Duration?] = [nil, .seconds(1_000)]

  private func options(_ limit: Duration?) -> LoadOptions {
    var options = LoadOptions()
    options.timeLimit = limit
    return options
  }

  @Test(arguments: limits) func threadsThatNeedEachOtherEnd(_ limit: Duration?) throws {
    let cache = try directory.open { $0.loadWaitLimit = .milliseconds(50) }
    let (arrived, options) = (Guarded(0), options(limit))
    concurrently(3) { thread in
      let value = try? cache.value(Int.self, forKey: "key\(thread)", options: options) { _ in
        arrived { $0 += 1 }
        _ = eventually { arrived.current >= 3 }
        return try cache.value(Int.self, forKey: "key\((thread + 1) % 3)", options: options) { _ in 5 }
      }
      #expect(value == 5)
    }
    for thread in 0..<3 { #expect(try cache.value(Int.self, forKey: "key\(thread)") == 5) }
    try cache.close()
  }

  @Test(arguments: [2, 3, 5], limits)
  func tasksThatNeedEachOtherEnd(_ count: Int, _ limit: Duration?) async throws {
    let cache = try directory.open { $0.loadWaitLimit = .milliseconds(50) }
    let options = options(limit)
    let arrived = Guarded(0)
    let values = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<count {
        group.addTask {
          try await cache.value(Int.self, forKey: "key\(number)", options: options) { _ in
            arrived { $0 += 1 }
            while arrived.current < count { await Task.yield() }
            return try await cache.value(Int.self, forKey: "key\((number + 1) % count)", options: options) { _ in 5 }
          }
        }
      }
      return try await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(values == Array(repeating: 5, count: count))
    for number in 0..<count { #expect(try cache.value(Int.self, forKey: "key\(number)") == 5) }
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

  @Test func aLoadThatWaitsForAnotherThreadWithItsKeyEnds() throws {
    let cache = try directory.open { $0.loadWaitLimit = .milliseconds(50) }
    let isDone = finishes {
      let value = try? cache.value(Int.self, forKey: "key") { _ in
        let inner = Guarded(0)
        concurrently(1) { _ in
          let value = try? cache.value(Int.self, forKey: "key", load: { _ in 1 })
          inner { $0 = value ?? -1 }
        }
        return inner.current + 1
      }
      if value != 2 { Issue.record("\(String(describing: value))") }
    }
    #expect(isDone)
    // The thread gave up its wait, and stored its value first.
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try cache.close()
  }

  @Test func aLoadThatHangsKeepsNobody() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .milliseconds(20) }
    let gate = Gate()
    let isLoading = Guarded(false)
    let first = Task {
      try await cache.value(Int.self, forKey: "key") { _ in
        isLoading { $0 = true }
        await gate.wait()
        return 1
      }
    }
    while !isLoading.current { await Task.yield() }
    #expect(try await cache.value(Int.self, forKey: "key") { _ in 2 } == 2)
    #expect(try cache.value(Int.self, forKey: "key") == 2)
    await gate.open(whenWaiting: { true })
    #expect(try await first.value == 1)
    #expect(try cache.value(Int.self, forKey: "key") == 2)
    try await cache.close()
  }

  @Test func aSourceThatHangsIsAskedMoreAndMoreRarely() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .milliseconds(2) }
    let (loads, isReleased) = (Guarded(0), Guarded(false))
    let start = MonotonicClock.nanoseconds
    let tasks = (0..<100).map { _ in
      Task {
        try await cache.value(Int.self, forKey: "key") { _ in
          loads { $0 += 1 }
          while !isReleased.current { try await Task.sleep(for: .milliseconds(1)) }
          return 1
        }
      }
    }
    #expect(try await becomesTrue { loads.current >= 5 })
    isReleased { $0 = true }
    for task in tasks { #expect(try await task.value == 1) }
    let waits = Double(MonotonicClock.nanoseconds - start) / 2_000_000
    #expect(Double(loads.current) <= log2(waits) + 2)
    try await cache.close()
  }

  /// A task that a load starts but does not await is not part of the load, so it waits like any caller.
  @Test func aTaskStartedInALoadSharesIt() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let loads = Guarded(0)
    let inner = Guarded<Task<Int, any Error>?>(nil)
    let value = try await cache.value(Int.self, forKey: "key") { _ in
      loads { $0 += 1 }
      let hasStarted = Guarded(false)
      let task = Task {
        hasStarted { $0 = true }
        return try await cache.value(Int.self, forKey: "key") { _ in
          loads { $0 += 1 }
          return 2
        }
      }
      inner { $0 = task }
      while !hasStarted.current { await Task.yield() }
      for _ in 0..<500 { await Task.yield() }
      return 1
    }
    #expect(value == 1)
    #expect(try await inner.current?.value == 1)
    #expect(loads.current == 1)
    try await cache.close()
  }

  @Test func aTaskThatOutlivesItsLoadIsNoPartOfIt() async throws {
    let cache = try directory.open()
    let inner = Guarded<Task<Int, any Error>?>(nil)
    let gate = Gate()
    _ = try await cache.value(Int.self, forKey: "key") { _ in
      let task = Task {
        await gate.wait()
        return try await cache.value(Int.self, forKey: "key") { _ in 2 }
      }
      inner { $0 = task }
      return 1
    }
    try cache.removeValue(forKey: "key")
    await gate.open(whenWaiting: { true })
    #expect(try await inner.current?.value == 2)
    #expect(try cache.value(Int.self, forKey: "key") == 2)
    try await cache.close()
  }

  @Test func aLoadThatNeedsItselfIsAnError() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let hop = DispatchQueue(label: "hop")
    let onOtherQueue = errorCode {
      try cache.value(Int.self, forKey: "key") { _ in
        try hop.sync { try cache.value(Int.self, forKey: "key", load: { _ in 1 }) }
      }
    }
    #expect(onOtherQueue == .recursiveLoad)
    @Sendable func load(_ key: Int) throws -> Int {
      try cache.value(Int.self, forKey: "key\(key)") { _ in try load(1 - key) }
    }
    @Sendable func loadInTask(_ key: Int) async throws -> Int {
      try await cache.value(Int.self, forKey: "task\(key)") { _ in try await loadInTask(1 - key) }
    }
    #expect(errorCode { try load(0) } == .recursiveLoad)
    #expect(await errorCode { try await loadInTask(0) } == .recursiveLoad)
    #expect(try await cache.value(Int.self, forKey: "key0") { _ in 1 } == 1)
    #expect(try await cache.value(Int.self, forKey: "task1") { _ in 1 } == 1)
    try await cache.close()
  }
}
