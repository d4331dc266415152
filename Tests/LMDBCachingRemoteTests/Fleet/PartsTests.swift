import Foundation
import LMDBCaching
import Metrics
import MetricsTestKit
import TestSupport
import Testing

@testable import LMDBCachingRemote

@Suite struct PartsTests {
  @Test func aBreakerOpensAndCloses() {
    let breaker = Guarded(CircuitBreaker())
    func isAllowed(_ now: Int64) -> Bool { breaker { $0.isAllowed(now: now) } }
    func fail(_ now: Int64, _ random: Double) -> Bool {
      breaker { $0.noteFailure(Self.failure, now: now, since: now, random: random) }
    }
    var pause: Int64 = 100_000_000
    for index in 0..<5 {
      #expect(isAllowed(0))
      #expect(fail(0, 0) == (index == 4))
    }
    #expect(breaker.current.isOpen && breaker.current.failure == Self.failure)
    #expect(!isAllowed(pause - 1))
    // One probe at a time.
    #expect(isAllowed(pause) && !isAllowed(pause))
    #expect(breaker.current.isOpen)
    // Requests from before the probe do not count.
    #expect(breaker { !$0.noteFailure(Self.failure, now: pause + 1, since: 0, random: 0) })
    #expect(!isAllowed(pause + 2))
    var now = pause
    while pause < 5_000_000_000 {
      #expect(!fail(now, 0))
      pause = min(2 * pause, 5_000_000_000)
      #expect(!isAllowed(now + pause - 1) && isAllowed(now + pause))
      // The probe never ended: the next one starts after an equal pause.
      now += 2 * pause
      #expect(!isAllowed(now - 1) && isAllowed(now))
    }
    #expect(!fail(now, 0))
    #expect(!isAllowed(now + pause - 1) && isAllowed(now + pause))
    breaker { $0.noteSuccess() }
    #expect(!breaker.current.isOpen && isAllowed(now) && isAllowed(now))
    #expect(breaker.current.failure == nil)
  }

  private static let failure = RemoteTierError(.timedOut, "late")

  /// A reachable server may still have no space.
  @Test(arguments: [(RemoteTierError.Code.unreachable, true), (.timedOut, true), (.full, false), (.readOnly, false)])
  func aReachableServerMayStillBeFull(_ code: RemoteTierError.Code, _ closes: Bool) {
    let breaker = Self.open(RemoteTierError(code, ""))
    // Requests from before the pause do not count.
    #expect(breaker { !$0.noteReachable(since: -1) })
    #expect(breaker { $0.noteReachable(since: 1) } == closes)
    #expect(breaker.current.isOpen != closes)
    #expect(breaker { $0.isAllowed(now: 1) } == closes)
    // The pause is over: the next write may succeed.
    breaker { $0.endPause(now: 1) }
    #expect(breaker { $0.isAllowed(now: 1) })
  }

  private static func open(_ error: RemoteTierError, random: Double = 0) -> Guarded<CircuitBreaker> {
    let breaker = Guarded(CircuitBreaker())
    for count in 1...5 {
      #expect(breaker { $0.noteFailure(error, now: 0, since: 0, random: random) } == (count == 5))
    }
    return breaker
  }

  /// A value's `deinit` may use the cache, which looks into the queue.
  @Test func theQueueReleasesValuesAfterItsLock() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("m-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try LMDBCache(directory: directory)
    let queue = WriteQueue(limit: 1 << 20)
    let released = Guarded(0)
    func add(_ key: String) throws {
      let value = LastWish {
        _ = queue.find("key")
        released { $0 += 1 }
      }
      let entry = try cache.archive(value, forKey: key, expires: 0, cost: nil, tags: [])
      try queue.add(key, entry)
    }
    try add("key")
    try add("key")
    #expect(released.current == 1)
    #expect(queue.expire("key", number: 2) && released.current == 2)
    for key in ["a", "b", "c"] { try add(key) }
    try queue.add("", nil, isRemovalOfAll: true)
    #expect(released.current == 5)
    try add("d")
    queue.settle(queue.nextBatch().count)
    queue.settle(queue.nextBatch().count)
    #expect(released.current == 6)
    try cache.close()
  }

  @Test func pausesDiffer() {
    let breaker = Self.open(Self.failure, random: 1)
    #expect(breaker { !$0.isAllowed(now: 49_999_999) && $0.isAllowed(now: 50_000_000) })
  }

  @Test func patternsMatchThemselvesAlone() {
    let patterns = RemoteNames(prefix: "p").patterns(ofKeysWithPrefix: "a*?[x]\\^-")
    #expect(patterns.entries == #"{p}:1:e:a\*\?\[x\]\\\^\-*"#)
  }

  @Test func settingsThatAreWrongAreErrors() {
    func isRight(_ change: (inout DistributedCacheConfiguration) -> Void) -> Bool {
      var configuration = DistributedCacheConfiguration()
      change(&configuration)
      do throws(RemoteTierError) {
        try configuration.validate()
        return true
      } catch {
        #expect(error.code == .invalidArgument)
        return false
      }
    }
    #expect(isRight { _ in })
    #expect(!isRight { $0.prefix = "" })
    #expect(!isRight { $0.prefix = "a{b" })
    #expect(!isRight { $0.writes = .behind(limit: 0) })
    #expect(!isRight { $0.timeLimit = .zero })
    #expect(!isRight { $0.rememberedChanges = 0 })
    #expect(!isRight { $0.servesUnheardFor = .seconds(-1) })
  }

  @Test func repliesThatAreNoStreamAreErrors() throws {
    func entry(_ id: String, _ fields: [RemoteReply]) -> RemoteReply {
      .array([.bytes(Data(id.utf8)), .array(fields)])
    }
    func text(_ text: String) -> RemoteReply { .bytes(Data(text.utf8)) }
    // Unknown content means that something may have changed.
    let cases: [([RemoteReply], RemoteChange)] = [
      ([text("k"), text("a")], .key("a")), ([text("p"), text("")], .prefix("")), ([text("n"), text("")], .none),
      ([text("z"), text("")], .unknown), ([], .unknown), ([text("k")], .unknown), ([text("k"), .null], .unknown),
      ([text("k"), text("a"), text("k"), text("b")], .unknown), ([text("k"), .bytes(Data([0xFF]))], .unknown),
    ]
    for (fields, change) in cases {
      let found = try RemoteChange.entries(in: .array([entry("1-1", fields)]))
      #expect(found.map(\.change) == [change] && found.map(\.revision.text) == ["1-1"])
    }
    let wrong: [RemoteReply] = [
      .null, .integer(1), .array([.null]), .array([.array([])]), .array([entry("x", [])]),
      .array([entry("99999999999999999-1", [text("k"), text("a")])]), .array([.array([text("1-1"), .null])]),
    ]
    for reply in wrong { #expect(throws: RemoteTierError.self) { try RemoteChange.entries(in: reply) } }
    let error = #expect(throws: RemoteTierError.self) { try RemoteChange.entries(in: .error("NOPERM no")) }
    #expect(error?.code == .refused)
  }

  @Test(arguments: [
    ("OOM command not allowed when used memory > 'maxmemory'.", RemoteTierError.Code.full),
    ("ERR Error running script (call to f_1): @user_script:1: @user_script: 3: -OOM command not allowed", .full),
    ("@user_script: 5: -READONLY You can't write against a read only replica.", .readOnly),
    ("READONLY You can't write against a read only replica.", .readOnly), ("NOREPLICAS Not enough", .readOnly),
    ("MISCONF Redis is configured to", .readOnly), ("-MISCONF Redis is configured to", .readOnly),
    ("NOAUTH Authentication required.", .refused), ("WRONGPASS invalid", .refused), ("NOPERM this user", .refused),
    ("ERR The user executing the script can't run this command or subcommand script: x", .refused),
    ("LOADING Redis is loading", .unreachable), ("MASTERDOWN Link", .unreachable), ("MOVED 1 a:1", .unreachable),
    ("ASK 1 a:1", .unreachable), ("CLUSTERDOWN x", .unreachable), ("ERR max number of clients reached", .unreachable),
    ("ERR Protocol error: invalid bulk length", .failed), ("ERR unknown command 'EVAL'", .failed), ("", .failed),
    ("WRONGTYPE Operation", .failed),
  ]) func errorsAreOfAKind(_ message: String, _ code: RemoteTierError.Code) {
    let error = RemoteTierError(reply: message)
    #expect(error.code == code && error.message == message)
    #expect(error.isAboutOneRequest == message.contains("Protocol error"))
  }

  @Test func aBatchHasNoMoreResultsThanWrites() {
    let results = ["1-1", "1-2"].map { RemoteReply.bytes(Data($0.utf8)) }
    for count in 0...3 {
      let (made, failure) = WriteBatch.outcomes(of: .array(results), count: count)
      #expect(made.count == (count < 2 ? 0 : 2))
      #expect((failure?.code == .failed) == (count != 2))
    }
  }

  // MARK: Revisions that are awaited

  private func revision(_ time: Int) -> RemoteRevision { RemoteRevision("\(time)-0".utf8)! }

  @Test func revisionsComeInOrderOrAreMissed() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      let times = (0..<Int.random(in: 1...40, using: &random)).map { _ in Int.random(in: 1...60, using: &random) }
      var awaited = UnconfirmedRevisions()
      for time in times { awaited.insert(revision(time)) }
      #expect(awaited.greatest == revision(times.max()!))
      var others = awaited
      for time in 1...60 {
        let confirms = awaited.confirm(revision(time))
        #expect(confirms)
      }
      let missing = times.randomElement(using: &random)!
      var isComplete = true
      for time in 1...61 where time != missing {
        let confirms = others.confirm(revision(time))
        if time == missing + 1 { #expect(!confirms) } else { #expect(confirms) }
        isComplete = isComplete && confirms
      }
      #expect(!isComplete)
    }
  }

  @Test func moreThanCanBeAwaitedCountsAsMissed() {
    var awaited = UnconfirmedRevisions()
    for time in 1...(UnconfirmedRevisions.limit + 1) { awaited.insert(revision(time)) }
    var missed: [Int] = []
    for time in 1...(UnconfirmedRevisions.limit + 1) where !awaited.confirm(revision(time)) { missed.append(time) }
    // Reported once, when the last revision that fits is noted.
    #expect(missed == [UnconfirmedRevisions.limit])
  }

  @Test func metricsAreToldWhatIsNew() throws {
    let system = TestMetrics()
    let metrics = RemoteMetrics(directory: "/cache", prefix: "fleet", system)
    var statistics = RemoteStatistics()
    statistics.requests = 7
    statistics.waitingWrites = 3
    statistics.lag = .milliseconds(1_500)
    let health = RemoteHealth(
      isInTouch: false, areReadsSuspended: true, areWritesSuspended: false, isRevalidating: true, failure: nil)
    metrics.record(statistics, health)
    statistics.requests = 9
    metrics.record(statistics, health)
    metrics.noteRequest(nanoseconds: 5_000)
    let dimensions = [("directory", "/cache"), ("prefix", "fleet")]
    func gauge(_ name: String) throws -> Double? {
      try system.expectGauge("lmdb_cache_remote_\(name)", dimensions).lastValue
    }
    #expect(try system.expectCounter("lmdb_cache_remote_requests", dimensions).values == [7, 2])
    #expect(try system.expectTimer("lmdb_cache_remote_request_duration", dimensions).values == [5_000])
    #expect(try gauge("waiting_writes") == 3)
    #expect(try gauge("lag_seconds") == 1.5)
    #expect(try gauge("in_touch") == 0)
    #expect(try gauge("reads_suspended") == 1)
    #expect(try gauge("writes_suspended") == 0)
    metrics.end()
  }

  @Test(arguments: [
    ("1700000000000-3", true), ("0-0", true), ("1-", false), ("-1", false), ("1", false), ("1-2-3", false),
    ("17592186044416-0", false), ("1-1048576", false), ("1-1048575", true), ("99999999999999999999-1", false),
    ("1a-2", false), ("", false),
  ]) func revisionsAreReadStrictly(_ text: String, _ isOne: Bool) {
    let revision = RemoteRevision(text.utf8)
    #expect((revision != nil) == isOne)
    if isOne { #expect(revision?.text == text) }
  }
}
