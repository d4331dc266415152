import Foundation
import Metrics
import MetricsTestKit
import TestSupport
import Testing

@testable import LMDBCachingRemote

@Suite struct PartsTests {
  @Test func aBreakerOpensAndCloses() {
    var settings = BreakerSettings()
    (settings.failures, settings.firstPause, settings.longestPause) = (3, .seconds(1), .seconds(3))
    let breaker = Guarded(CircuitBreaker(settings))
    func isAllowed(_ now: Int64) -> Bool { breaker { $0.isAllowed(now: now) } }
    func fail(_ now: Int64, _ random: Double) -> Bool { breaker { $0.noteFailure(now: now, random: random) } }
    let second: Int64 = 1_000_000_000
    for index in 0..<3 {
      #expect(isAllowed(0))
      #expect(fail(0, 0) == (index == 2))
    }
    #expect(!isAllowed(second - 1) && breaker.current.isPausing(now: second - 1))
    // One is let through, and no other before it has ended.
    #expect(isAllowed(second) && !isAllowed(second))
    #expect(!fail(second, 0))
    #expect(!isAllowed(3 * second - 1) && isAllowed(3 * second))
    // It never ended: another one, after as long a pause.
    #expect(!isAllowed(5 * second - 1) && isAllowed(5 * second))
    #expect(!fail(5 * second, 0))
    #expect(!isAllowed(8 * second - 1) && isAllowed(8 * second))
    breaker { $0.noteSuccess() }
    #expect(!breaker.current.isOpen && isAllowed(8 * second) && isAllowed(8 * second))
  }

  @Test func pausesDiffer() {
    var settings = BreakerSettings()
    (settings.failures, settings.firstPause) = (1, .seconds(1))
    let breaker = Guarded(CircuitBreaker(settings))
    func isAllowed(_ now: Int64) -> Bool { breaker { $0.isAllowed(now: now) } }
    func fail(_ now: Int64, _ random: Double) -> Bool { breaker { $0.noteFailure(now: now, random: random) } }
    #expect(fail(0, 1))
    #expect(!isAllowed(499_999_999) && isAllowed(500_000_000))
  }

  @Test func aTurnWaitsAndEnds() {
    var turn = LoadTurn(now: 0, limit: 20_000_000)
    #expect(turn.step == .ask)
    turn.didAsk(hasLease: false, now: 0)
    #expect(turn.step == .pause(2_000_000))
    turn.didPause()
    turn.didAsk(hasLease: false, now: 10_000_000)
    #expect(turn.step == .pause(4_000_000))
    turn.didPause()
    turn.didAsk(hasLease: false, now: 19_000_000)
    #expect(turn.step == .pause(1_000_000))
    turn.didPause()
    turn.didAsk(hasLease: false, now: 20_000_000)
    #expect(turn.step == .load(hasLease: false))
    var other = LoadTurn(now: 0, limit: .max)
    other.didAsk(hasLease: true, now: 0)
    #expect(other.step == .load(hasLease: true))
  }

  @Test func revisionsKeepTheirOrder() throws {
    let revisions = try ["0-0", "0-1", "1-0", "1700000000000-0", "1700000000000-1", "1700000000001-0"].map {
      try #require(RemoteRevision(Data($0.utf8)))
    }
    #expect(revisions == revisions.sorted())
    #expect(Set(revisions).count == revisions.count)
    #expect(revisions.map(\.text)[3] == "1700000000000-0")
    for text in ["", "-", "1", "1-", "-1", "a-b", "1-1048576", "17592186044416-0", "1-1-1", "-1-1"] {
      #expect(RemoteRevision(Data(text.utf8)) == nil)
    }
  }

  @Test func patternsMatchThemselvesAlone() {
    let patterns = RemoteNames(prefix: "p").patterns(ofKeysWithPrefix: "a*?[x]\\^-")
    #expect(patterns.entries == #"{p}:1:e:a\*\?\[x\]\\\^\-*"#)
  }

  @Test func settingsThatAreWrongAreErrors() {
    func isRight(_ change: (inout DistributedCacheConfiguration) -> Void) -> Bool {
      var configuration = DistributedCacheConfiguration()
      change(&configuration)
      return (try? configuration.validate()) != nil
    }
    #expect(isRight { _ in })
    #expect(!isRight { $0.prefix = "" })
    #expect(!isRight { $0.prefix = "a{b" })
    #expect(!isRight { $0.writes = .behind(limit: 0) })
    #expect(!isRight { $0.timeLimit = .zero })
    #expect(!isRight { $0.rememberedChanges = 0 })
    #expect(!isRight { $0.servesUnheardFor = .seconds(-1) })
    #expect(!isRight { $0.breaker.failures = 0 })
    #expect(!isRight { $0.breaker.longestPause = .zero })
  }

  @Test func repliesThatAreNoChangesAreErrors() {
    let entry = RemoteReply.array([.bytes(Data("1-1".utf8)), .array([.bytes(Data("k".utf8)), .bytes(Data("a".utf8))])])
    #expect(throws: Never.self) { try RemoteChange.entries(in: .array([entry])) }
    let wrong: [RemoteReply] = [
      .null, .integer(1), .array([.null]), .array([.array([])]),
      .array([.array([.bytes(Data("x".utf8)), .array([])])]),
      .array([.array([.bytes(Data("1-1".utf8)), .array([.bytes(Data("z".utf8)), .bytes(Data())])])]),
    ]
    for reply in wrong { #expect(throws: RemoteTierError.self) { try RemoteChange.entries(in: reply) } }
  }

  @Test func metricsAreToldWhatIsNew() throws {
    let system = TestMetrics()
    let metrics = RemoteMetrics(directory: "/cache", prefix: "fleet", system)
    var statistics = RemoteStatistics()
    statistics.requests = 7
    statistics.waitingWrites = 3
    statistics.lag = .milliseconds(1_500)
    let health = RemoteHealth(
      isInTouch: false, areReadsSuspended: true, areWritesSuspended: false, isRevalidating: true)
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
