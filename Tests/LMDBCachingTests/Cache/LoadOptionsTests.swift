import Dispatch
import Foundation
import LMDB
import Platform
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct LoadOptionsTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  private func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    try directory.open {
      $0.clock = .manual(clock)
      // Real time: keep callers on a busy machine from giving up the wait.
      $0.loadWaitLimit = .seconds(600)
      change(&$0)
    }
  }

  struct Failure: Error {}

  /// A source that counts its calls, and can fail or block.
  final class Source: Sendable {
    private let state = Mutex((calls: 0, fails: false))
    private let gate = Mutex<DispatchSemaphore?>(nil)
    /// Loads that have reached the wait.
    let arrivals = Atomic<Int>(0)

    var calls: Int { state.withLock { $0.calls } }
    var fails: Bool {
      get { state.withLock { $0.fails } }
      set { state.withLock { $0.fails = newValue } }
    }

    func hold() -> DispatchSemaphore {
      let semaphore = DispatchSemaphore(value: 0)
      gate.withLock { $0 = semaphore }
      return semaphore
    }

    func load() throws -> Int {
      arrivals.add(1, ordering: .sequentiallyConsistent)
      gate.withLock { $0 }?.wait()
      return try answer()
    }

    func loadInTask() async throws -> Int {
      arrivals.add(1, ordering: .sequentiallyConsistent)
      while let gate = gate.withLock({ $0 }), gate.wait(timeout: .now()) == .timedOut {
        try? await Task.sleep(for: .milliseconds(1))
      }
      return try answer()
    }

    private func answer() throws -> Int {
      try state.withLock { state in
        state.calls += 1
        if state.fails { throw Failure() }
        return state.calls
      }
    }
  }

  private func value(
    _ cache: LMDBCache, _ source: Source, _ options: LoadOptions, isTask: Bool
  ) async throws -> Int {
    if isTask {
      return try await cache.value(Int.self, forKey: "key", options: options) { _ async throws -> Int in
        try await source.loadInTask()
      }
    }
    // On a thread of its own: two that wait would hold all of Swift's pool.
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result { try cache.value(Int.self, forKey: "key", options: options) { _ in try source.load() } })
      }
    }
  }

  // Keeps the compiler from choosing the asynchronous form.
  private func wait<V>(_ body: () throws -> V) throws -> V { try body() }

  private static func options(_ lifetime: Int, _ change: (inout LoadOptions) -> Void = { _ in }) -> LoadOptions {
    var options = LoadOptions(lifetime: .seconds(lifetime))
    change(&options)
    return options
  }

  @Test func shorterLivesAreRefreshedAheadToo() throws {
    let cache = try open()
    let options = Self.options(100) { ($0.refreshAhead, $0.jitter) = (0.8, 1) }
    for number in 0..<50 {
      _ = try cache.value(Int.self, forKey: "\(number)", options: options) { _ in number }
      let header = try #require(
        try CacheKey.with("\(number)") { (key) throws(CacheError) in try cache.store.liveHeader(key) })
      let life = header.expires - clock.now
      #expect(abs(header.refresh - clock.now - life / 5 * 4) < 1_000)
    }
    try cache.close()
  }

  @Test func anyTimeLimitIsOne() async throws {
    let (cache, source) = (try open(), Source())
    let options = Self.options(10) { $0.timeLimit = .seconds(Int64.max) }
    #expect(try await value(cache, source, options, isTask: true) == 1)
    try await cache.removeAll()
    #expect(try await value(cache, source, options, isTask: false) == 2)
    try await cache.close()
  }

  /// The product of a lifetime and a share is rounded, and may exceed the range of Duration.
  @Test func anyLifetimeIsOne() throws {
    let cache = try open()
    for lifetime in [Duration.zero, .nanoseconds(1), .seconds(Int64.max), Duration(attoseconds: .max)] {
      for (share, jitter) in [(1.0, 0.0), (1, 1e-300), (.leastNonzeroMagnitude, 1), (0.5, 0.5)] {
        var options = LoadOptions(lifetime: lifetime)
        (options.refreshAhead, options.jitter) = (share, jitter)
        #expect(try cache.value(Int.self, forKey: "key", options: options) { _ in 1 } == 1)
        // Only short lifetimes expire at once.
        if lifetime > .seconds(1), jitter < 1 { #expect(try cache.contains("key")) }
        try cache.removeAll()
      }
    }
    try cache.close()
  }

  /// The pause does not grow with the number of waiters.
  @Test(arguments: [false, true]) func aFailureThatManyWaitForIsOne(_ isTask: Bool) async throws {
    let (events, source) = (EventLog.Events(), Source())
    let cache = try open { $0.logger = EventLog.logger(events) }
    let options = Self.options(10) {
      $0.failSafe = .seconds(100)
      $0.pauseAfterFailure = .seconds(4)
      $0.longestPause = .seconds(60)
    }
    #expect(try await value(cache, source, options, isTask: isTask) == 1)
    clock.advance(by: .seconds(20))
    source.fails = true
    let gate = source.hold()
    let found = Guarded<[Int?]>([])
    func ask() async {
      let answer = try? await value(cache, source, options, isTask: isTask)
      found { $0.append(answer) }
    }
    let group = DispatchGroup()
    if isTask {
      for _ in 0..<16 {
        group.enter()
        Task {
          await ask()
          group.leave()
        }
      }
    } else {
      for _ in 0..<16 {
        inBackground(group) {
          let answer = try? cache.value(Int.self, forKey: "key", options: options) { _ in try source.load() }
          found { $0.append(answer) }
        }
      }
    }
    // All callers found it expired; most wait for the leader.
    #expect(try await becomesTrue { cache.statistics.misses == 17 })
    for _ in 0..<40 { gate.signal() }
    #expect(try await becomesTrue { found.current.count == 16 })
    #expect(found.current.allSatisfy { $0 == 1 })
    let calls = source.calls
    #expect(try await becomesTrue { events.current.count { $0.message == "load failed" } == calls - 1 })
    #expect(try await value(cache, source, options, isTask: isTask) == 1)
    #expect(source.calls == calls)
    clock.advance(by: .seconds(4))
    #expect(try await value(cache, source, options, isTask: isTask) == 1)
    #expect(source.calls == calls + 1)
    try await cache.close()
  }

  @Test func aLoadOfAProcessThatIsAloneIsNotCommittedAtOnce() throws {
    let cache = try open { neverCommitting(&$0) }
    let commits = cache.statistics.commits
    for index in 0..<10 { #expect(try cache.value(Int.self, forKey: "\(index)") { _ in index } == index) }
    try cache.store.writer.run {}
    #expect(cache.statistics.commits == commits)
    try cache.close()
  }

  @Test func whatIsLoadedIsTrimmedLast() throws {
    let cache = try open()
    let options = Self.options(10_000) { $0.failSafe = .seconds(100) }
    for key in ["a", "b", "c"] { #expect(try cache.value(Int.self, forKey: key, options: options) { _ in 1 } == 1) }
    try cache.flush()
    cache.memory.removeAll()
    clock.advance(by: .seconds(1_000))
    #expect(try cache.value(Int.self, forKey: "a", options: options) { _ in 2 } == 1)
    try cache.disk.trim(to: .count(1))
    #expect(try cache.entries().map(\.key) == ["a"])
    try cache.close()
  }

  @Test(arguments: [false, true]) func aSourceThatHangsIsAskedOnce(_ isTask: Bool) async throws {
    let (cache, source) = (try open { $0.loadWaitLimit = .milliseconds(1) }, Source())
    let gate = source.hold()
    let hurried = Self.options(10) { $0.timeLimit = .milliseconds(10) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<(isTask ? 200 : 20) {
        group.addTask {
          await #expect {
            try await self.value(cache, source, hurried, isTask: isTask)
          } throws: {
            ($0 as? CacheError)?.code == .loadTimedOut
          }
        }
      }
      try await group.waitForAll()
    }
    async let patient = value(cache, source, Self.options(10) { $0.timeLimit = .seconds(600) }, isTask: isTask)
    #expect(try await becomesTrue { cache.store.flights.waiterCount(ByteKey("key")) > 0 })
    #expect(source.arrivals.load(ordering: .sequentiallyConsistent) == 1)
    gate.signal()
    #expect(try await patient == 1)
    #expect(source.calls == 1)
    try await cache.close()
  }

  @Test func loadsWithALimitDoNotStarveEachOther() async throws {
    let (cache, source) = (try open(), Source())
    let gate = source.hold()
    let hurried = Self.options(10) { $0.timeLimit = .milliseconds(1) }
    let patient = Self.options(10) { $0.timeLimit = .seconds(600) }
    let count = 160
    for number in 0..<count {
      #expect(
        errorCode {
          try wait {
            try cache.value(Int.self, forKey: "hanging\(number)", options: hurried) { _ in try source.load() }
          }
        } == .loadTimedOut)
    }
    let (arrived, found) = (Guarded(0), Guarded(0))
    concurrently(count) { number in
      let value = try? cache.value(Int.self, forKey: "outer\(number)", options: patient) { _ in
        arrived { $0 += 1 }
        _ = eventually { arrived.current == count }
        return try cache.value(Int.self, forKey: "inner\(number)", options: patient) { _ in number }
      }
      if value == number { found { $0 += 1 } }
    }
    #expect(found.current == count)
    for _ in 0..<count { gate.signal() }
    try await cache.close()
  }

  @Test func aCallerWithATimeLimitGetsWhatSomebodyElseLoads() async throws {
    let (cache, source) = (try open(), Source())
    let gate = source.hold()
    let options = Self.options(10) { $0.timeLimit = .seconds(600) }
    async let first = value(cache, source, options, isTask: false)
    #expect(try await becomesTrue { source.arrivals.load(ordering: .sequentiallyConsistent) == 1 })
    async let others = [value(cache, source, options, isTask: false), value(cache, source, options, isTask: true)]
    gate.signal()
    #expect(try await first == 1)
    #expect(try await others == [1, 1])
    #expect(source.calls == 1)
    try await cache.close()
  }

  @Test(arguments: [false, true]) func aSlowSourceIsNotWaitedForForEver(_ isTask: Bool) async throws {
    let (cache, source) = (try open(), Source())
    let options = Self.options(10) {
      $0.failSafe = .seconds(100)
      $0.timeLimit = .milliseconds(20)
    }
    let gate = source.hold()
    await #expect {
      try await value(cache, source, options, isTask: isTask)
    } throws: {
      ($0 as? CacheError)?.code == .loadTimedOut
    }
    gate.signal()
    #expect(try await becomesTrue { try cache.value(Int.self, forKey: "key") == 1 })
    clock.advance(by: .seconds(20))
    #expect(try await value(cache, source, options, isTask: isTask) == 1)
    gate.signal()
    #expect(try await becomesTrue { try cache.value(Int.self, forKey: "key") == 2 })
    try await cache.close()
  }

  @Test func theLoaderDecides() throws {
    let cache = try open()
    let options = Self.options(10) { $0.cost = 3 }
    let value = try cache.value(Int.self, forKey: "a", options: options) { context in
      #expect(context.key == "a" && context.lifetime == .seconds(10) && context.cost == 3 && context.isStored)
      context.lifetime = .seconds(20)
      context.cost = 5
      return 1
    }
    #expect(value == 1)
    let entry = try #require(try cache.entry(forKey: "a"))
    #expect(entry.cost == 5)
    #expect(entry.expiration == Date(timeIntervalSince1970: Double(clock.now) / 1e9 + 20))
    #expect(
      try cache.value(Int.self, forKey: "b", options: options) { context in
        context.isStored = false
        return 2
      } == 2)
    #expect(try !cache.contains("b"))
    try cache.close()
  }

  @Test func theCachesOwnOptionsHold() throws {
    let cache = try open { $0.loadOptions = Self.options(10) { $0.staleWhileRevalidate = .seconds(5) } }
    #expect(try cache.value(Int.self, forKey: "key") { _ in 1 } == 1)
    clock.advance(by: .seconds(11))
    #expect(try cache.value(Int.self, forKey: "key") { _ in 2 } == 1)
    try cache.close()
  }

  @Test func lifetimesDiffer() throws {
    let cache = try open()
    let options = Self.options(1_000) { $0.jitter = 0.5 }
    for number in 0..<50 { _ = try cache.value(Int.self, forKey: "\(number)", options: options) { _ in number } }
    let now = Date(timeIntervalSince1970: Double(clock.now) / 1e9)
    let lifetimes = try cache.entries().map { $0.expiration!.timeIntervalSince(now) }
    #expect(lifetimes.allSatisfy { 499...1_000.001 ~= $0 })
    #expect(lifetimes.max()! - lifetimes.min()! > 100)
    try cache.close()
  }

  @Test(
    arguments: [
      { $0.jitter = -0.1 }, { $0.jitter = 1.5 }, { $0.jitter = .nan }, { $0.refreshAhead = 0 }, { $0.refreshAhead = 2 },
      {
        $0.lifetime = nil; $0.refreshAhead = 0.5
      }, { $0.staleWhileRevalidate = .seconds(-1) },
      { $0.failSafe = .seconds(-1) }, { $0.timeLimit = .zero }, { $0.pauseAfterFailure = .seconds(100) },
      { $0.cost = -1 },
    ] as [@Sendable (inout LoadOptions) -> Void])
  func whatIsOutOfRangeIsAnError(_ change: @Sendable (inout LoadOptions) -> Void) throws {
    let options = Self.options(10, change)
    #expect(errorCode { try open { $0.loadOptions = options } } == .invalidArgument)
    let cache = try open()
    #expect(
      errorCode { try cache.value(Int.self, forKey: "key", options: options) { _ in fatalError() } } == .invalidArgument
    )
    try cache.close()
  }

  @Test func manyCallersLoadOnce() async throws {
    let (cache, source) = (try open(), Source())
    let options = Self.options(10) { $0.staleWhileRevalidate = .seconds(5) }
    for round in 1..<4 {
      await withTaskGroup(of: Int?.self) { group in
        for index in 0..<64 {
          group.addTask {
            if index % 2 == 0 { return try? await value(cache, source, options, isTask: true) }
            // A pool thread would not wait for a task's load.
            return await withCheckedContinuation { continuation in
              inBackground(DispatchGroup()) {
                let found = try? cache.value(Int.self, forKey: "key", options: options) { _ in try source.load() }
                continuation.resume(returning: found)
              }
            }
          }
        }
        for await found in group { #expect(found == round || found == round - 1) }
      }
      #expect(try await becomesTrue { cache.memory.contains("key") })
      #expect(source.calls <= round)
      cache.memory.removeAll()
      clock.advance(by: .seconds(11))
    }
    try await cache.close()
  }
}
