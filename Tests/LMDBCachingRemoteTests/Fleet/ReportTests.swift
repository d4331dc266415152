import LMDBCaching
import Metrics
import MetricsTestKit
import Testing

@testable import LMDBCachingRemote

/// Settings, metrics and the errors of servers.
@Suite struct ReportTests {
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
    for prefix in ["", "a{b"] { #expect(!isRight { $0.prefix = prefix }) }
    #expect(!isRight { $0.writes = .behind(limit: 0) })
    #expect(!isRight { $0.timeLimit = .zero })
    #expect(!isRight { $0.rememberedChanges = 0 })
    #expect(!isRight { $0.servesUnheardFor = .seconds(-1) })
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

  @Test func metricsGetWhatIsNew() throws {
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
    let expected = [
      "waiting_writes": 3, "lag_seconds": 1.5, "in_touch": 0, "reads_suspended": 1, "writes_suspended": 0,
    ]
    for (name, value) in expected { #expect(try gauge(name) == value) }
    metrics.end()
  }
}
