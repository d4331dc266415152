import Dispatch
import Foundation
import LMDB
import Platform
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// The options of a load, in both of its forms. The model tries when a value is fresh, stale or kept.
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
    /// Loads that have begun.
    let arrivals = Guarded(0)

    var calls: Int { state.withLock { $0.calls } }

    func fail(_ fails: Bool = true) { state.withLock { $0.fails = fails } }

    func hold() -> DispatchSemaphore {
      let semaphore = DispatchSemaphore(value: 0)
      gate.withLock { $0 = semaphore }
      return semaphore
    }

    func load() throws -> Int {
      arrivals { $0 += 1 }
      gate.withLock { $0 }?.wait()
      return try answer()
    }

    func loadInTask() async throws -> Int {
      arrivals { $0 += 1 }
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
    _ cache: LMDBCache, _ source: Source, _ options: LoadOptions?, isTask: Bool
  ) async throws -> Int {
    if isTask {
      return try await cache.value(Int.self, forKey: "key", options: options) { _ async throws -> Int in
        try await source.loadInTask()
      }
    }
    // On a new thread: two that wait would hold all of Swift's pool.
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(
          with: Result { try cache.value(Int.self, forKey: "key", options: options) { _ in try source.load() } })
      }
    }
  }

  private static func options(_ lifetime: Int, _ change: (inout LoadOptions) -> Void = { _ in }) -> LoadOptions {
    var options = LoadOptions(lifetime: .seconds(lifetime))
    change(&options)
    return options
  }

  // MARK: Every option

  /// The options of the cache apply to a load without options, in both forms.
  @Test(arguments: [false, true], [false, true]) func everyOptionHolds(_ isTask: Bool, _ areOfCache: Bool) async throws
  {
    let options = Self.options(10) {
      ($0.cost, $0.tags, $0.refreshAhead) = (7, ["a"], 0.5)
      ($0.staleWhileRevalidate, $0.failSafe, $0.timeLimit) = (.seconds(5), .seconds(100), .seconds(Int64.max))
    }
    let cache = try open { $0.loadOptions = areOfCache ? options : Self.options(99) }
    let source = Source()
    func ask() async throws -> Int { try await value(cache, source, areOfCache ? nil : options, isTask: isTask) }
    func becomes(_ number: Int) async throws -> Bool {
      try await becomesTrue(within: .seconds(600)) {
        try cache.value(Int.self, forKey: "key") == number && !cache.isRefreshing
      }
    }
    #expect(try await ask() == 1)
    let entry = try #require(try cache.entry(forKey: "key"))
    #expect(entry.cost == 7 && entry.isTagged("a") && entry.expiration?.timeIntervalSince(clock.date) == 10)
    // Ahead of the expiry.
    clock.advance(by: .seconds(6))
    #expect(try await ask() == 1)
    #expect(try await becomes(2))
    // Stale.
    clock.advance(by: .seconds(12))
    #expect(try await ask() == 2)
    #expect(try await becomes(3))
    #expect(cache.statistics.staleServed == 1 && cache.statistics.refreshes == 2)
    // Kept for the case that the source fails.
    clock.advance(by: .seconds(20))
    source.fail()
    #expect(try await ask() == 3)
    clock.advance(by: .seconds(100))
    await #expect(throws: Failure.self) { try await ask() }
    source.fail(false)
    #expect(try await ask() == source.calls)
    try await cache.removeAll(.tag("a"))
    #expect(try !cache.contains("key"))
    try await cache.close()
  }

  @Test func theLoaderDecides() throws {
    let cache = try open()
    let options = Self.options(10) { $0.cost = 3 }
    let value = try cache.value(Int.self, forKey: "a", options: options) { context in
      #expect(context.key == "a" && context.lifetime == .seconds(10) && context.cost == 3 && context.isStored)
      (context.lifetime, context.cost) = (.seconds(20), 5)
      return 1
    }
    let entry = try #require(try cache.entry(forKey: "a"))
    #expect(value == 1 && entry.cost == 5 && entry.expiration?.timeIntervalSince(clock.date) == 20)
    let other = try cache.value(Int.self, forKey: "b", options: options) { context in
      context.isStored = false
      return 2
    }
    #expect(try other == 2 && !cache.contains("b"))
    try cache.close()
  }

  @Test func anAbsenceIsLoadedAgainAfterItsLifetime() throws {
    let cache = try open()
    let options = Self.options(1_000) { $0.absenceLifetime = .seconds(10) }
    let calls = Guarded(0)
    for (seconds, count) in [(0, 1), (9, 1), (1, 2)] {
      clock.advance(by: .seconds(seconds))
      let value = try cache.optionalValue(Int.self, forKey: "key", options: options) { _ in
        calls { $0 += 1 }
        return nil
      }
      #expect(try value == nil && calls.current == count && !cache.contains("key"))
    }
    try cache.close()
  }

  /// The options of its load say how long an old value is kept, those of the caller how old it may be.
  @Test func aFailedLoadIsServedWithinTheCallersLimit() throws {
    let cache = try open()
    func ask(_ failSafe: Int, _ load: @escaping @Sendable () throws -> Int) throws -> Int {
      let options = Self.options(10) { $0.failSafe = .seconds(failSafe) }
      return try cache.value(Int.self, forKey: "key", options: options) { _ in try load() }
    }
    #expect(try ask(100) { 1 } == 1)
    clock.advance(by: .seconds(60))
    #expect(throws: Failure.self) { try ask(20) { throw Failure() } }
    #expect(try ask(100) { throw Failure() } == 1)
    try cache.close()
  }

  /// Shorter lives are refreshed ahead at the same share. That time is not public.
  @Test func lifetimesDiffer() throws {
    let cache = try open()
    let options = Self.options(1_000) { ($0.refreshAhead, $0.jitter) = (0.8, 0.5) }
    let lives = try (0..<50).map { (number: Int) throws -> Int64 in
      _ = try cache.value(Int.self, forKey: "\(number)", options: options) { _ in number }
      let header = try #require(
        try CacheKey.with("\(number)") { (key) throws(CacheError) in try cache.store.liveHeader(key) })
      #expect(abs(header.refresh - clock.now - (header.expires - clock.now) / 5 * 4) < 1_000)
      return header.expires - clock.now
    }
    #expect(
      lives.allSatisfy { 499_000_000_000...1_000_001_000_000 ~= $0 } && lives.max()! - lives.min()! > 100_000_000_000)
    // The product of a lifetime and a share is rounded, and may exceed the range of Duration.
    for lifetime in [Duration.zero, .nanoseconds(1), .seconds(Int64.max), Duration(attoseconds: .max)] {
      for (share, jitter) in [(1, 0), (1, 1e-300), (.leastNonzeroMagnitude, 1), (0.5, 0.5)] as [(Double, Double)] {
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

  static let wrong: [@Sendable (inout LoadOptions) -> Void] = [
    { $0.jitter = -0.1 }, { $0.jitter = 1.5 }, { $0.jitter = .nan }, { $0.refreshAhead = 0 }, { $0.refreshAhead = 2 },
    { ($0.lifetime, $0.refreshAhead) = (nil, 0.5) }, { $0.lifetime = .seconds(-1) },
    { $0.absenceLifetime = .seconds(-1) }, { $0.staleWhileRevalidate = .seconds(-1) }, { $0.failSafe = .seconds(-1) },
    { $0.timeLimit = .zero }, { $0.pauseAfterFailure = .seconds(100) }, { $0.cost = -1 },
    { $0.tags = (0..<65).map { "tag \($0)" } },
  ]

  @Test(arguments: [false, true]) func optionsOutOfRangeAreErrors(_ isTask: Bool) async throws {
    let (cache, source) = (try open(), Source())
    for change in Self.wrong {
      let options = Self.options(10, change)
      #expect(errorCode { try open { $0.loadOptions = options } } == .invalidArgument)
      #expect(await errorCode { try await value(cache, source, options, isTask: isTask) } == .invalidArgument)
    }
    #expect(source.calls == 0)
    try await cache.close()
  }

  // MARK: Slow and failing sources

  /// The pause does not grow with the number of waiters.
  @Test(arguments: [false, true]) func aFailureWithManyWaitersIsOne(_ isTask: Bool) async throws {
    let (events, source) = (EventLog.Events(), Source())
    let cache = try open { $0.logger = EventLog.logger(events) }
    let options = Self.options(10) {
      ($0.failSafe, $0.pauseAfterFailure, $0.longestPause) = (.seconds(100), .seconds(4), .seconds(60))
    }
    #expect(try await value(cache, source, options, isTask: isTask) == 1)
    clock.advance(by: .seconds(20))
    source.fail()
    let gate = source.hold()
    let askers = (0..<16).map { _ in Task { try? await value(cache, source, options, isTask: isTask) } }
    #expect(try await becomesTrue { cache.store.flights.waiterCount(ByteKey("key")) == 16 })
    for _ in 0..<40 { gate.signal() }
    for asker in askers { #expect(await asker.value == 1) }
    #expect(source.calls == 2)
    #expect(try await becomesTrue { events.current.count { $0.message == "load failed" } == 1 })
    #expect(try await value(cache, source, options, isTask: isTask) == 1)
    #expect(source.calls == 2)
    clock.advance(by: .seconds(4))
    #expect(try await value(cache, source, options, isTask: isTask) == 1)
    #expect(source.calls == 3)
    try await cache.close()
  }

  @Test(arguments: [false, true]) func aSlowSourceReturnsAfterTheTimeLimit(_ isTask: Bool) async throws {
    let (cache, source) = (try open(), Source())
    let options = Self.options(10) { ($0.failSafe, $0.timeLimit) = (.seconds(100), .milliseconds(20)) }
    let gate = source.hold()
    #expect(await errorCode { try await value(cache, source, options, isTask: isTask) } == .loadTimedOut)
    gate.signal()
    #expect(try await becomesTrue { try cache.value(Int.self, forKey: "key") == 1 })
    clock.advance(by: .seconds(20))
    #expect(try await value(cache, source, options, isTask: isTask) == 1)
    gate.signal()
    #expect(try await becomesTrue { try cache.value(Int.self, forKey: "key") == 2 })
    try await cache.close()
  }

  /// A load over its time limit goes on, and later callers join it.
  @Test(arguments: [false, true]) func aSourceThatHangsIsAskedOnce(_ isTask: Bool) async throws {
    let (cache, source) = (try open { $0.loadWaitLimit = .milliseconds(1) }, Source())
    let gate = source.hold()
    let hurried = Self.options(10) { $0.timeLimit = .milliseconds(10) }
    let askers = (0..<20).map { _ in
      Task { await errorCode { try await value(cache, source, hurried, isTask: isTask) } }
    }
    for asker in askers { #expect(await asker.value == .loadTimedOut) }
    #expect(await errorCode { try await value(cache, source, hurried, isTask: isTask) } == .loadTimedOut)
    let patient = Task {
      try await value(cache, source, Self.options(10) { $0.timeLimit = .seconds(600) }, isTask: isTask)
    }
    #expect(try await becomesTrue { cache.store.flights.waiterCount(ByteKey("key")) > 0 })
    #expect(try await becomesTrue { source.arrivals.current > 0 })
    for _ in 0..<40 { gate.signal() }
    #expect(try await patient.value == 1)
    #expect(source.arrivals.current == 1)
    try await cache.close()
  }

  // MARK: Instruments

  /// Records its events, and sets a task-local value for the closure.
  private final class Notebook: LoadInstrument {
    @TaskLocal static var key: String?
    let lines = Mutex<[String]>([])

    nonisolated(nonsending) func load<R>(
      key: String, directory: String, _ body: nonisolated(nonsending) () async throws -> R
    ) async rethrows -> R {
      lines.withLock { $0.append("begin \(key)") }
      defer { lines.withLock { $0.append("end \(key)") } }
      return try await Self.$key.withValue(key) { try await body() }
    }
  }

  @Test func everyLoadRunsInsideTheInstrument() async throws {
    let notebook = Notebook()
    let cache = try directory.open { $0.loadInstrument = notebook }
    try blocking { () throws in
      for _ in 0..<2 { #expect(try cache.value(String.self, forKey: "a") { _ in Notebook.key! } == "a") }
      #expect(throws: Failure.self) { try cache.value(String.self, forKey: "b") { _ in throw Failure() } }
    }
    let options = LoadOptions()
    let value = try await cache.value(String.self, forKey: "c", options: options) { _ in
      await Task { Notebook.key! }.value
    }
    #expect(value == "c")
    await #expect(throws: Failure.self) {
      try await cache.value(String.self, forKey: "d", options: options) { _ async throws -> String in throw Failure() }
    }
    #expect(notebook.lines.withLock { $0 } == ["a", "b", "c", "d"].flatMap { ["begin \($0)", "end \($0)"] })
    #expect(cache.statistics.loads == 4 && cache.statistics.failedLoads == 2)
    try await cache.close()
  }
}
