import Dispatch
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// One load per key and process, across threads, tasks and cache objects. ``CacheStorm`` tries loads while their keys
/// are written.
@Suite(.timeLimit(.minutes(30))) struct LoadFlightTests {
  let directory = CacheDirectory()

  struct Failure: Error, Equatable {}

  /// Where a caller runs.
  enum Place: CaseIterable, Sendable { case thread, task }

  private func open() throws -> LMDBCache { try directory.open { $0.loadWaitLimit = .seconds(3_600) } }

  /// 64 threads and 64 tasks request the same cold keys, each in its own order.
  @Test(arguments: [1, 3]) func threadsAndTasksLoadOnce(_ cacheCount: Int) async throws {
    let caches = try (0..<cacheCount).map { _ in try open() }
    let count = 50
    let (loads, found) = (Guarded([Int](repeating: 0, count: count)), Guarded(0))
    @Sendable func key(_ asker: Int, _ step: Int) -> Int { (step * 7 + asker * 13) % count }
    @Sendable func note(_ value: Int?, _ number: Int) { if value == number { found { $0 += 1 } } }
    let threads = DispatchGroup()
    for asker in 0..<64 {
      inBackground(threads) {
        for number in (0..<count).map({ key(asker, $0) }) {
          let value = try? caches[asker % cacheCount].value(Int.self, forKey: "key\(number)") { _ in
            loads { $0[number] += 1 }
            sched_yield()
            return number
          }
          note(value, number)
        }
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for asker in 64..<128 {
        group.addTask {
          for number in (0..<count).map({ key(asker, $0) }) {
            let value = try? await caches[asker % cacheCount].value(Int.self, forKey: "key\(number)") {
              _ async throws -> Int in
              loads { $0[number] += 1 }
              await Task.yield()
              return number
            }
            note(value, number)
          }
        }
      }
    }
    await withCheckedContinuation { continuation in threads.notify(queue: .global()) { continuation.resume() } }
    #expect(found.current == 128 * count)
    #expect(loads.current == Array(repeating: 1, count: count))
    #expect(caches.reduce(0) { $0 + $1.statistics.loads } == count)
    for cache in caches { try await cache.close() }
  }

  // MARK: A flight that the test holds up

  /// Callers of the load of "key", whose source answers when the test releases it.
  private final class Flight: Sendable {
    let isLoading = Guarded(false)
    let isReleased = Guarded(false)
    let wasCancelled = Guarded(false)
    let results = Guarded<[Result<Int, any Error>]>([])
    private let source: @Sendable () throws -> Int

    init(_ source: @escaping @Sendable () throws -> Int) { self.source = source }

    /// Callers of the load, with its leader.
    func waiters(_ cache: LMDBCache) -> Int { cache.store.flights.waiterCount(ByteKey("key")) }

    /// Returns once the caller waits; the task, if it is one.
    @discardableResult
    func ask(_ cache: LMDBCache, _ place: Place) async throws -> Task<Void, Never>? {
      let count = waiters(cache) + 1
      var task: Task<Void, Never>?
      if place == .thread {
        inBackground(DispatchGroup()) { [self] in
          let result = Result {
            try cache.value(Int.self, forKey: "key") { [self] _ in
              isLoading { $0 = true }
              _ = eventually(within: .seconds(600)) { isReleased.current }
              return try source()
            }
          }
          results { $0.append(result) }
        }
      } else {
        task = Task { await askInTask(cache) }
      }
      #expect(try await becomesTrue(within: .seconds(600)) { waiters(cache) == count && isLoading.current })
      return task
    }

    private func askInTask(_ cache: LMDBCache) async {
      do {
        let value = try await cache.value(Int.self, forKey: "key") { [self] _ async throws -> Int in
          isLoading { $0 = true }
          while !isReleased.current, !Task.isCancelled { await Task.yield() }
          if Task.isCancelled { wasCancelled { $0 = true } }
          return try source()
        }
        results { $0.append(.success(value)) }
      } catch {
        results { $0.append(.failure(error)) }
      }
    }

    func land(_ count: Int) async throws {
      isReleased { $0 = true }
      #expect(try await becomesTrue(within: .seconds(600)) { results.current.count == count })
    }
  }

  /// More tasks than pool threads wait without holding a thread.
  @Test(arguments: Place.allCases, [false, true])
  func everyCallerGetsTheResult(_ leader: Place, _ fails: Bool) async throws {
    let cache = try open()
    let flight = Flight {
      if fails { throw Failure() }
      return 1
    }
    try await flight.ask(cache, leader)
    for _ in 0..<8 { try await flight.ask(cache, .thread) }
    for _ in 0..<32 { try await flight.ask(cache, .task) }
    #expect(await Task { 5 }.value == 5)
    try await flight.land(41)
    for result in flight.results.current {
      switch result {
      case .success(let value): #expect(value == 1 && !fails)
      case .failure(let error): #expect(error is Failure && fails)
      }
    }
    #expect(cache.statistics.loads == 1)
    #expect(try cache.value(Int.self, forKey: "key") == (fails ? nil : 1))
    try await cache.close()
  }

  /// The leader, another caller, and whether the leader is the one that is canceled.
  @Test(arguments: [
    (Place.task, Place.thread, true), (.task, .task, true), (.thread, .task, false), (.task, .task, false),
  ])
  func aLoadOutlivesTheTaskThatIsCanceled(_ leader: Place, _ other: Place, _ leaves: Bool) async throws {
    let cache = try open()
    let flight = Flight { 1 }
    let tasks = [try await flight.ask(cache, leader), try await flight.ask(cache, other)]
    let task = try #require(tasks[leaves ? 0 : 1])
    task.cancel()
    await task.value
    #expect(flight.results.current.count == 1)
    if case .failure(is CancellationError)? = flight.results.current.first {} else { Issue.record("not canceled") }
    try await flight.land(2)
    #expect(try flight.results.current[1].get() == 1)
    #expect(!flight.wasCancelled.current)
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try await cache.close()
  }

  /// The source ignores the cancellation, and its value comes too late.
  @Test func aLoadThatAllHaveLeftIsCancelledAndStoresNothing() async throws {
    let cache = try open()
    let flight = Flight { 1 }
    let task = try #require(try await flight.ask(cache, .task))
    task.cancel()
    await task.value
    #expect(try await becomesTrue(within: .seconds(600)) { flight.wasCancelled.current })
    #expect(try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in 2 } == 2)
    for _ in 0..<1_000 { await Task.yield() }
    #expect(try cache.value(Int.self, forKey: "key") == 2)
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await cache.value(Int.self, forKey: "other") { _ async throws -> Int in 1 }
    }
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
    try await cache.close()
  }

  /// Closing the loading object leaves the waiters of another object their value.
  @Test func aCloseDuringALoadIsNoObstacle() async throws {
    let caches = try (0..<2).map { _ in try open() }
    let flight = Flight { 1 }
    for cache in caches { try await flight.ask(cache, .thread) }
    try await caches[0].close()
    try await flight.land(2)
    for result in flight.results.current { #expect(try result.get() == 1) }
    #expect(try await caches[1].value(Int.self, forKey: "key") { _ async throws -> Int in 9 } == 9)
    try await caches[1].close()
  }

  // MARK: Callers that cannot share

  /// A caller that requires a value cannot use a shared load that found none, so it loads.
  @Test func aCallerThatNeedsAValueDoesNotShareAnAbsence() async throws {
    let cache = try open()
    let (isLoading, isReleased) = (Guarded(false), Guarded(false))
    inBackground(DispatchGroup()) {
      let none = try? cache.optionalValue(Int.self, forKey: "key") { _ -> Int? in
        isLoading { $0 = true }
        _ = eventually(within: .seconds(600)) { isReleased.current }
        return nil
      }
      #expect(none == nil)
    }
    #expect(try await becomesTrue(within: .seconds(600)) { isLoading.current })
    let task = Task { try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in 3 } }
    #expect(try await becomesTrue(within: .seconds(600)) { cache.store.flights.waiterCount(ByteKey("key")) == 2 })
    isReleased { $0 = true }
    #expect(try await task.value == 3)
    #expect(try cache.value(Int.self, forKey: "key") == 3)
    try await cache.close()
  }

  /// A waiter whose load has another type loads by itself.
  @Test func loadsOfTwoTypesEnd() throws {
    let cache = try open()
    for round in 0..<50 {
      let isDone = finishes {
        concurrently(4) { thread in
          if thread % 2 == 0 {
            let value = try? cache.value(Int.self, forKey: "key\(round)", load: { _ in 1 })
            #expect(value == 1)
          } else {
            let value = try? cache.value(String.self, forKey: "key\(round)", load: { _ in "text" })
            #expect(value == "text")
          }
        }
      }
      #expect(isDone)
    }
    try cache.close()
  }

  /// In a task the synchronous form blocks a thread that the load may need, so it loads by itself instead of waiting.
  @Test func theFormForThreadsDoesNotStarveThePool() async throws {
    let cache = try open()
    @Sendable func onThisThread(_ key: Int) throws -> Int {
      try cache.value(Int.self, forKey: "\(key)") { _ in key }
    }
    for round in 0..<20 {
      let leader = Task {
        try await cache.value(Int.self, forKey: "\(round)") { _ async throws -> Int in
          for _ in 0..<20 { await Task.yield() }
          return round
        }
      }
      let others = (0..<63).map { _ in Task { try onThisThread(round) } }
      for task in [leader] + others { #expect(try await task.value == round) }
    }
    try await cache.close()
  }
}
