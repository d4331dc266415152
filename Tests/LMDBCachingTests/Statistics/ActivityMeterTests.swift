import Testing

@testable import LMDBCaching

/// Rates between two readings of published statistics: an algorithm of numbers, without a cache.
@Suite struct ActivityMeterTests {
  /// One reading of at most one process.
  struct Reading: Sendable {
    let seconds: Double
    var sets = 0
    var published: Double?
    var opened = 0.0
    var identifier: UInt64 = 1

    var activity: CacheActivity {
      var activity = CacheActivity()
      activity.moment = .init(wall: 0, monotonic: Int64(seconds * 1e9))
      guard let published else { return activity }
      var process = ProcessStatistics()
      (process.identifier, process.process) = (identifier, 1)
      process.opened.monotonic = Int64(opened * 1e9)
      process.published.monotonic = Int64(published * 1e9)
      process.statistics.sets = sets
      activity.processes = [process]
      return activity
    }
  }

  private func expect(
    _ meter: inout ActivityMeter, _ reading: Reading, rate: Double, at location: SourceLocation = #_sourceLocation
  ) {
    let interval = meter.update(with: reading.activity)
    #expect(interval.isComplete && abs(interval.rate(\.sets) - rate) < 0.001, sourceLocation: location)
  }

  /// Rates are by the process's times. It publishes every second; the meter reads just before.
  @Test func ratesStayUntilThePublicationIsOverdue() {
    var meter = ActivityMeter()
    let first = meter.update(with: Reading(seconds: 100, sets: 0, published: 99.4).activity)
    #expect(first.processes.isEmpty && !first.isComplete)
    expect(&meter, Reading(seconds: 101, sets: 15, published: 100.9), rate: 10)
    expect(&meter, Reading(seconds: 101.8, sets: 15, published: 100.9), rate: 10)
    expect(&meter, Reading(seconds: 103, sets: 35, published: 102.9), rate: 10)
    expect(&meter, Reading(seconds: 107, sets: 35, published: 102.9), rate: 0)
    // After an idle period, the next rate covers only the time since then.
    expect(&meter, Reading(seconds: 200, sets: 35, published: 102.9), rate: 0)
    expect(&meter, Reading(seconds: 201, sets: 55, published: 200.9), rate: 20 / 0.9)
  }

  @Test func laterProcessesAreMeasuredFromTheirOpening() {
    var meter = ActivityMeter()
    _ = meter.update(with: Reading(seconds: 100).activity)
    let interval = meter.update(with: Reading(seconds: 102, sets: 10, published: 102, opened: 97).activity)
    #expect(interval.rate(\.sets) == 2)
    // A reused process identifier counts as a new process.
    let reused = Reading(seconds: 104, sets: 4, published: 104, opened: 103, identifier: 2)
    let other = meter.update(with: reused.activity)
    #expect(other.rate(\.sets) == 4 && other.processes.map(\.identifier) == [2])
  }

  /// With any clock values, intervals are positive and counts are not negative.
  @Test(arguments: [(50.0, 5), (1_000, 5), (100.0, 0)]) func clocksThatJumpDoNoHarm(_ published: Double, _ sets: Int) {
    var meter = ActivityMeter()
    _ = meter.update(with: Reading(seconds: 100, sets: 5, published: 100).activity)
    let interval = meter.update(with: Reading(seconds: 101, sets: sets, published: published).activity)
    #expect(interval.processes.allSatisfy { $0.seconds > 0 && $0.statistics.sets == 0 })
    // A reader clock set back yields no interval.
    let back = meter.update(with: Reading(seconds: 1, sets: 50, published: 100).activity)
    #expect(back.processes.allSatisfy { $0.statistics.sets == 0 })
  }
}
