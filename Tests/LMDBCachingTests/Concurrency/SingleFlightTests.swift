import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct SingleFlightTests {
  let directory = CacheDirectory()
  struct Failure: Error, Equatable { var number = 0 }

  @Test func threadsShareTheError() throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let loads = Guarded(0)
    let arrived = Guarded(0)
    let failures = Guarded<[Failure]>([])
    concurrently(4) { _ in
      arrived { $0 += 1 }
      do {
        _ = try cache.value(Int.self, forKey: "key") { _ in
          _ = eventually(within: .seconds(2)) { arrived.current == 4 }
          // Gives the arrivals time to start waiting.
          usleep(20_000)
          throw Failure(
            number: loads {
              $0 += 1; return $0
            })
        }
        Issue.record("no error")
      } catch {
        failures { $0.append(error as! Failure) }
      }
    }
    #expect(failures.current.count == 4)
    #expect(loads.current < 4)
    #expect(try !cache.contains("key"))
    #expect(try cache.value(Int.self, forKey: "key", load: { _ in 7 }) == 7)
    try cache.close()
  }

  /// A waiter whose load has another type loads by itself.
  @Test func loadsOfTwoTypesEnd() throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    for round in 0..<50 {
      let isDone = finishes {
        concurrently(4) { thread in
          let key = "key\(round)"
          do {
            if thread % 2 == 0 {
              let value = try cache.value(Int.self, forKey: key, load: { _ in 1 })
              if value != 1 { Issue.record("\(value)") }
            } else {
              let value = try cache.value(String.self, forKey: key, load: { _ in "text" })
              if value != "text" { Issue.record("\(value)") }
            }
          } catch {
            Issue.record(error)
          }
        }
      }
      #expect(isDone)
    }
    try cache.close()
  }

  @Test func tasksShareTheError() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let gate = Gate()
    let loads = Guarded(0)
    let tasks = (0..<5).map { _ in
      Task {
        try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in
          loads { $0 += 1 }
          await gate.wait()
          throw Failure(number: 1)
        }
      }
    }
    await gate.open(whenWaiting: { loads.current == 1 })
    for task in tasks { await #expect(throws: Failure(number: 1)) { try await task.value } }
    #expect(try !cache.contains("key"))
    try await cache.close()
  }

  @Test func aCancelledTaskLeavesAndTheOthersStay() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let gate = Gate()
    let isLoading = Guarded(false)
    func load() -> Task<Int, any Error> {
      Task {
        try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in
          isLoading { $0 = true }
          await gate.wait()
          return Task.isCancelled ? -1 : 1
        }
      }
    }
    let first = load()
    while !isLoading.current { await Task.yield() }
    let second = load()
    for _ in 0..<200 { await Task.yield() }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    await gate.open(whenWaiting: { true })
    #expect(try await second.value == 1)
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try await cache.close()
  }

  @Test func theLoadIsCancelledWhenNobodyWaits() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let isLoading = Guarded(false)
    let wasCancelled = Guarded(false)
    let task = Task {
      try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in
        isLoading { $0 = true }
        while !Task.isCancelled { await Task.yield() }
        wasCancelled { $0 = true }
        throw CancellationError()
      }
    }
    while !isLoading.current { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    while !wasCancelled.current { await Task.yield() }
    let value = try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in 2 }
    #expect(value == 2)
    try await cache.close()
  }

  @Test func aTaskCancelledBeforeItAsksThrows() async throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await cache.value(Int.self, forKey: "key") { _ async throws -> Int in 1 }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await cache.close()
  }
}

actor Gate {
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func wait() async {
    if isOpen { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  func open(whenWaiting isReady: @Sendable () -> Bool) async {
    while !isReady() { await Task.yield() }
    // Callers that join without a load of their own.
    for _ in 0..<500 { await Task.yield() }
    isOpen = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}
