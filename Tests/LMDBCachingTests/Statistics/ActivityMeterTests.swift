import Testing

@testable import LMDBCaching

@Suite struct ActivityMeterTests {
  private static func activity(at seconds: Double, _ processes: ProcessStatistics...) -> CacheActivity {
    var activity = CacheActivity()
    activity.moment = .init(wall: 0, monotonic: Int64(seconds * 1e9))
    activity.processes = processes
    return activity
  }

  private static func process(
    _ identifier: UInt64 = 1, sets: Int, published seconds: Double, opened: Double = 0
  ) -> ProcessStatistics {
    var statistics = ProcessStatistics()
    statistics.identifier = identifier
    statistics.process = 1
    statistics.opened.monotonic = Int64(opened * 1e9)
    statistics.published.monotonic = Int64(seconds * 1e9)
    statistics.statistics.sets = sets
    return statistics
  }

  @Test func aFirstReadingTellsNoRate() {
    var meter = ActivityMeter()
    let interval = meter.update(with: Self.activity(at: 100, Self.process(sets: 5, published: 99.5)))
    #expect(interval.processes.isEmpty)
    #expect(!interval.isComplete)
  }

  @Test func ratesAreOfTheProcessesOwnTimes() throws {
    var meter = ActivityMeter()
    _ = meter.update(with: Self.activity(at: 100, Self.process(sets: 5, published: 99.5)))
    let interval = meter.update(with: Self.activity(at: 101, Self.process(sets: 25, published: 101)))
    #expect(interval.isComplete)
    #expect(try #require(interval.processes.first).statistics.sets == 20)
    #expect(abs(interval.rate(\.sets) - 20 / 1.5) < 0.001)
  }

  /// Publishes every second; the meter reads just before.
  @Test func ratesStayWhileNothingNewIsDue() {
    var meter = ActivityMeter()
    _ = meter.update(with: Self.activity(at: 100, Self.process(sets: 0, published: 99.9)))
    _ = meter.update(with: Self.activity(at: 101, Self.process(sets: 10, published: 100.9)))
    let same = meter.update(with: Self.activity(at: 101.8, Self.process(sets: 10, published: 100.9)))
    #expect(same.rate(\.sets) == 10)
    let next = meter.update(with: Self.activity(at: 103, Self.process(sets: 30, published: 102.9)))
    #expect(abs(next.rate(\.sets) - 10) < 0.001)
  }

  @Test func whoSaysNothingDoesNothing() {
    var meter = ActivityMeter()
    _ = meter.update(with: Self.activity(at: 100, Self.process(sets: 0, published: 99.9)))
    _ = meter.update(with: Self.activity(at: 101, Self.process(sets: 10, published: 100.9)))
    let idle = meter.update(with: Self.activity(at: 104, Self.process(sets: 10, published: 100.9)))
    #expect(idle.rate(\.sets) == 0)
    #expect(idle.isComplete)
    // After an idle period, the next rate covers only the time since then.
    _ = meter.update(with: Self.activity(at: 200, Self.process(sets: 10, published: 100.9)))
    let again = meter.update(with: Self.activity(at: 201, Self.process(sets: 30, published: 200.9)))
    #expect(abs(again.rate(\.sets) - 20 / 0.9) < 0.001)
  }

  @Test func whoComesLaterIsMeasuredFromItsOpening() {
    var meter = ActivityMeter()
    _ = meter.update(with: Self.activity(at: 100))
    let interval = meter.update(with: Self.activity(at: 102, Self.process(sets: 10, published: 102, opened: 97)))
    #expect(interval.rate(\.sets) == 2)
    // A reused process identifier counts as a new process.
    let other = meter.update(with: Self.activity(at: 104, Self.process(2, sets: 4, published: 104, opened: 103)))
    #expect(other.rate(\.sets) == 4)
    #expect(other.processes.map(\.identifier) == [2])
  }

  /// With any clock values, intervals are positive and counts are not negative.
  @Test(arguments: [(50.0, 5), (1_000, 5), (100.0, 0)]) func jumpsDoNoHarm(_ published: Double, _ sets: Int) {
    var meter = ActivityMeter()
    _ = meter.update(with: Self.activity(at: 100, Self.process(sets: 5, published: 100)))
    let interval = meter.update(with: Self.activity(at: 101, Self.process(sets: sets, published: published)))
    for process in interval.processes {
      #expect(process.seconds > 0)
      #expect(process.statistics.sets == 0)
    }
    // A reader clock set back yields no interval.
    let back = meter.update(with: Self.activity(at: 1, Self.process(sets: 50, published: 100)))
    #expect(back.processes.allSatisfy { $0.statistics.sets == 0 })
  }
}
