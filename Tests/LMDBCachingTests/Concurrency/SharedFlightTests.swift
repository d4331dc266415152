import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// One load per key and process, across threads, tasks and cache objects.
@Suite(.timeLimit(.minutes(30))) struct SharedFlightTests {
  let directory = CacheDirectory()

  struct Failure: Error, Equatable {}

  /// 64 threads and 64 tasks request the same cold keys, each in its own order.
  @Test(arguments: [1, 3]) func threadsAndTasksLoadOnce(_ cacheCount: Int) async throws {
    let caches = try (0..<cacheCount).map { _ in try directory.open { $0.loadWaitLimit = .seconds(3_600) } }
    let count = 50
    let loads = Guarded([Int](repeating: 0, count: count))
    @Sendable func key(_ asker: Int, _ step: Int) -> Int { (step * 7 + asker * 13) % count }
    let failures = Guarded(0)
    let threads = DispatchGroup()
    for asker in 0..<64 {
      inBackground(threads) {
        for step in 0..<count {
          let number = key(asker, step)
          let value = try? caches[asker % cacheCount].value(Int.self, forKey: "key\(number)") { _ in
            loads { $0[number] += 1 }
            usleep(200)
            return number
          }
          if value != number { failures { $0 += 1 } }
        }
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for asker in 64..<128 {
        group.addTask {
          for step in 0..<count {
            let number = key(asker, step)
            let value = try? await caches[asker % cacheCount].value(Int.self, forKey: "key\(number)") {
              _ async throws -> Int in
              loads { $0[number] += 1 }
              try await Task.sleep(for: .microseconds(200))
              return number
            }
            if value != number { failures { $0 += 1 } }
          }
        }
      }
    }
    await withCheckedContinuation { continuation in threads.notify(queue: .global()) { continuation.resume() } }
    #expect(failures.current == 0)
    #expect(loads.current == Array(repeating: 1, count: count))
    #expect(caches.reduce(0) { $0 + $1.statistics.loads } == count)
    for cache in caches { try await cache.close() }
  }

  /// The callers waiting for the load of "key", and its leader.
  private func waiters(_ cache: LMDBCache) -> Int { cache.store.flights.waiterCount(ByteKey("key")) }

  /// More tasks than pool threads wait for a thread's load without holding a thread.
  @Test func tasksWaitForAThread() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let (isLoading, isReleased) = (Guarded(false), Guarded(false))
    let thread = DispatchGroup()
    inBackground(thread) {
      _ = try? cache.value(Int.self, forKey: "key") { _ in
        isLoading { $0 = true }
        _ = eventually { isReleased.current }
        return 1
      }
    }
    #expect(try await becomesTrue(within: .seconds(600)) { isLoading.current })
    let tasks = (0..<64).map { _ in
      Task { try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in 2 } }
    }
    // The pool is free: tasks still run.
    #expect(try await becomesTrue(within: .seconds(600)) { waiters(cache) == 65 })
    #expect(await Task { 5 }.value == 5)
    isReleased { $0 = true }
    for task in tasks { #expect(try await task.value == 1) }
    #expect(cache.statistics.loads == 1)
    try await cache.close()
  }

  @Test func threadsWaitForATask() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let gate = Gate()
    let isLoading = Guarded(false)
    let task = Task {
      try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in
        isLoading { $0 = true }
        await gate.wait()
        throw Failure()
      }
    }
    #expect(try await becomesTrue(within: .seconds(600)) { isLoading.current })
    let failures = Guarded(0)
    let threads = DispatchGroup()
    for _ in 0..<8 {
      inBackground(threads) {
        do { _ = try cache.value(Int.self, forKey: "key", load: { _ in 2 }) } catch is Failure {
          failures { $0 += 1 }
        } catch {}
      }
    }
    await gate.open(whenWaiting: { waiters(cache) == 9 })
    await #expect(throws: Failure.self) { try await task.value }
    #expect(try await becomesTrue(within: .seconds(600)) { failures.current == 8 })
    #expect(cache.statistics.loads == 1)
    try await cache.close()
  }

  @Test func aThreadKeepsALoadThatTasksHaveLeft() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let gate = Gate()
    let isLoading = Guarded(false)
    let task = Task {
      try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in
        isLoading { $0 = true }
        await gate.wait()
        return Task.isCancelled ? -1 : 1
      }
    }
    #expect(try await becomesTrue(within: .seconds(600)) { isLoading.current })
    let found = Guarded<Int?>(nil)
    let thread = DispatchGroup()
    inBackground(thread) {
      let value = try? cache.value(Int.self, forKey: "key", load: { _ in 2 })
      found { $0 = value }
    }
    #expect(try await becomesTrue(within: .seconds(600)) { waiters(cache) == 2 })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await gate.open(whenWaiting: { true })
    #expect(try await becomesTrue(within: .seconds(600)) { found.current == 1 })
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try await cache.close()
  }

  @Test func aTaskLeavesTheLoadOfAThread() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let (isLoading, isReleased, found) = (Guarded(false), Guarded(false), Guarded<Int?>(nil))
    let thread = DispatchGroup()
    inBackground(thread) {
      let value = try? cache.value(Int.self, forKey: "key") { _ in
        isLoading { $0 = true }
        _ = eventually { isReleased.current }
        return 1
      }
      found { $0 = value }
    }
    #expect(try await becomesTrue(within: .seconds(600)) { isLoading.current })
    let task = Task { try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in 2 } }
    #expect(try await becomesTrue(within: .seconds(600)) { waiters(cache) == 2 })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    isReleased { $0 = true }
    #expect(try await becomesTrue(within: .seconds(600)) { found.current == 1 })
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try await cache.close()
  }

  @Test func aThreadAndATaskThatNeedEachOtherEnd() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .milliseconds(50) }
    let arrived = Guarded(0)
    let found = Guarded<Int?>(nil)
    let thread = DispatchGroup()
    inBackground(thread) {
      let value = try? cache.value(Int.self, forKey: "thread") { _ in
        arrived { $0 += 1 }
        _ = eventually { arrived.current == 2 }
        return try cache.value(Int.self, forKey: "task", load: { _ in 5 })
      }
      found { $0 = value }
    }
    let value = try await cache.value(Int.self, forKey: "task") { _ async throws -> Int in
      arrived { $0 += 1 }
      while arrived.current < 2 { await Task.yield() }
      return try await cache.value(Int.self, forKey: "thread") { _ async throws -> Int in 5 }
    }
    #expect(value == 5)
    #expect(try await becomesTrue(within: .seconds(600)) { found.current == 5 })
    try await cache.close()
  }

  /// In a task the synchronous form blocks a thread that the load may need, so it loads by itself instead of waiting.
  @Test func theFormForThreadsDoesNotStarveThePool() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    for round in 0..<20 {
      let tasks = (0..<64).map { number in
        Task { () -> Int in
          if number == 0 {
            return try await cache.value(Int.self, forKey: "\(round)") { _ async throws -> Int in
              for _ in 0..<20 { await Task.yield() }
              return round
            }
          }
          return try Self.onThisThread { try cache.value(Int.self, forKey: "\(round)") { _ in round } }
        }
      }
      for task in tasks { #expect(try await task.value == round) }
    }
    try await cache.close()
  }

  private static func onThisThread<R>(_ body: () throws -> R) throws -> R { try body() }

  /// A write during the load wins, through any object.
  @Test func aWriteThroughAnotherObjectWins() throws {
    let caches = try (0..<2).map { _ in try directory.open { $0.loadWaitLimit = .seconds(3_600) } }
    let (isLoading, isReleased, found) = (Guarded(false), Guarded(false), Guarded<[Int?]>([]))
    let threads = DispatchGroup()
    inBackground(threads) {
      let value = try? caches[0].value(Int.self, forKey: "key") { _ in
        isLoading { $0 = true }
        _ = eventually { isReleased.current }
        return 1
      }
      found { $0.append(value) }
    }
    #expect(eventually { isLoading.current })
    inBackground(threads) {
      let value = try? caches[1].value(Int.self, forKey: "key", load: { _ in 7 })
      found { $0.append(value) }
    }
    #expect(eventually { waiters(caches[1]) == 2 })
    try caches[1].set(2, forKey: "key")
    // A caller after the write does not get the earlier load's value.
    #expect(try caches[1].value(Int.self, forKey: "key", load: { _ in 8 }) == 2)
    isReleased { $0 = true }
    threads.wait()
    #expect(found.current.allSatisfy { $0 == 1 || $0 == 2 }, "\(found.current)")
    for cache in caches { #expect(try cache.value(Int.self, forKey: "key") == 2) }
    for cache in caches { try cache.close() }
  }

  /// Closing the loading object leaves waiters of another object their value.
  @Test func aCloseDuringALoadIsNoObstacle() throws {
    let caches = try (0..<2).map { _ in try directory.open { $0.loadWaitLimit = .seconds(3_600) } }
    let (isLoading, isReleased, found) = (Guarded(false), Guarded(false), Guarded<[Int?]>([]))
    let threads = DispatchGroup()
    inBackground(threads) {
      let value = try? caches[0].value(Int.self, forKey: "key") { _ in
        isLoading { $0 = true }
        _ = eventually { isReleased.current }
        return 1
      }
      found { $0.append(value) }
    }
    #expect(eventually { isLoading.current })
    inBackground(threads) {
      let value = try? caches[1].value(Int.self, forKey: "key", load: { _ in 7 })
      found { $0.append(value) }
    }
    #expect(eventually { waiters(caches[1]) == 2 })
    try caches[0].close()
    isReleased { $0 = true }
    threads.wait()
    #expect(found.current == [1, 1])
    #expect(try caches[1].value(Int.self, forKey: "key", load: { _ in 9 }) == 9)
    try caches[1].close()
  }

  /// A caller that requires a value cannot use a shared load that found none, so it loads.
  @Test(arguments: [false, true]) func whoNeedsAValueDoesNotGetNone(_ isTask: Bool) async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let (isLoading, isReleased, found) = (Guarded(false), Guarded(false), Guarded<Int?>(nil))
    let thread = DispatchGroup()
    inBackground(thread) {
      let none = try? cache.optionalValue(Int.self, forKey: "key") { _ -> Int? in
        isLoading { $0 = true }
        _ = eventually { isReleased.current }
        return nil
      }
      #expect(none == nil)
    }
    #expect(try await becomesTrue(within: .seconds(600)) { isLoading.current })
    let asks = DispatchGroup()
    if isTask {
      Task {
        let value = try? await cache.value(Int.self, forKey: "key", options: LoadOptions()) { _ async throws -> Int in 3
        }
        found { $0 = value }
      }
    } else {
      inBackground(asks) {
        let value = try? cache.value(Int.self, forKey: "key", options: LoadOptions()) { _ in 3 }
        found { $0 = value }
      }
    }
    #expect(try await becomesTrue(within: .seconds(600)) { cache.statistics.misses == 2 })
    isReleased { $0 = true }
    #expect(try await becomesTrue(within: .seconds(600)) { found.current == 3 })
    #expect(try cache.value(Int.self, forKey: "key") == 3)
    try await cache.close()
  }
}
