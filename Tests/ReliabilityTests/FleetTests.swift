import Testing

@testable import Reliability

/// The judge of the trial `fleet`. Times are seconds.
@Suite struct FleetTests {
  typealias Events = [(machine: Int, events: [FleetEvent])]
  /// Takes 10 ms.
  typealias Read = (reader: Int, key: Int, version: Int, at: Double, isFault: Bool)

  struct Case: Sendable {
    let title: String
    let events: Events
    let disturbances: [FleetHistory.Disturbance]
    let reads: [Read]
  }

  private static func nanoseconds(_ seconds: Double) -> Int64 { Int64(seconds * 1e9) }

  /// A write that took 10 ms.
  private static func write(
    _ key: Int, _ version: Int, at time: Double, by machine: Int = 0, isRemoval: Bool = false, expires: Double = 0,
    isAcknowledged: Bool = true
  ) -> (machine: Int, events: [FleetEvent]) {
    let kinds: [FleetEvent.Kind] = isAcknowledged ? [.begun, .acknowledged] : [.begun]
    let events = kinds.map {
      FleetEvent(
        $0, key: key, version: version, isRemoval: isRemoval, expires: nanoseconds(expires), start: nanoseconds(time),
        end: nanoseconds(time + 0.01))
    }
    return (machine, events)
  }

  private static func flush(at time: Double, by machine: Int) -> (machine: Int, events: [FleetEvent]) {
    let (start, end) = (nanoseconds(time), nanoseconds(time + 1))
    return (machine, [FleetEvent(.flushed, key: 0, version: 0, start: start, end: end)])
  }

  private static func disturbance(
    _ start: Double, _ end: Double, empties: Bool = false, isFailover: Bool = false
  ) -> [FleetHistory.Disturbance] {
    [.init(start: nanoseconds(start), end: nanoseconds(end), empties: empties, isFailover: isFailover)]
  }

  /// Written by machine 0 without a loader, by machine 0 for a loader, by a machine with a queue, and by all.
  private static let (key, loaded, queued, contested) = (0, 12, FleetPlan.queueMachines[1], FleetPlan.ownKeys)
  private static let one = [write(key, 1, at: 0)]
  private static let two = one + [write(key, 2, at: 100)]
  private static let queue = [write(queued, 1, at: 0, by: queued), write(queued, 2, at: 10, by: queued)]
  private static let versions = (0..<3).map { FleetPlan.version(1, machine: $0, thread: 0) }

  private static func byAll(_ starts: [Double], acknowledged: Bool = true) -> Events {
    starts.enumerated().map { machine, start in
      write(contested, versions[machine], at: start, by: machine, isAcknowledged: acknowledged || machine > 0)
    }
  }

  static let cases: [Case] = {
    let late = 100.5 + Double(FleetPlan.bound(reader: 2)) / 1e9
    let emptied = disturbance(50, 51, empties: true)
    var cases: [Case] = []
    func add(_ title: String, _ events: Events, _ disturbances: [FleetHistory.Disturbance] = [], reads: [Read]) {
      cases.append(Case(title: title, events: events, disturbances: disturbances, reads: reads))
    }
    add(
      "An older value is found after its bound; the writer sees its own write at once", two,
      reads: [
        (2, key, 1, late, false), (2, key, 1, late + 1, true), (2, key, 2, late + 1, false), (0, key, 1, 101, true),
      ])
    add("A value that no machine wrote, or not yet", two, reads: [(2, key, 3, late, true), (2, key, 2, 99, true)])
    add("A value that is gone", one, reads: [(2, key, 0, 100, true)])
    add("The server lost it", one, emptied, reads: [(2, key, 0, 100, false)])
    add("An outage before it", one, disturbance(50, 51), reads: [(2, key, 0, 100, true)])
    add("An outage at the time", one, disturbance(99, 101), reads: [(2, key, 0, 100, false)])
    add("A later write must be there", one + [write(key, 2, at: 60)], emptied, reads: [(2, key, 0, 100, true)])
    add("A later removal", one + [write(key, 2, at: 60, isRemoval: true)], reads: [(2, key, 0, 100, false)])
    add(
      "A loader always returns something", [write(loaded, 1, at: 0, isRemoval: true)], emptied,
      reads: [(2, loaded, 1, 100, false), (2, loaded, 0, 100, true)])
    add(
      "An expired value", [write(key, 1, at: 0, expires: 50)],
      reads: [(0, key, 1, 49, false), (0, key, 1, 51, true), (0, key, 0, 51, false), (0, key, 0, 40, true)])
    add(
      "Queued writes count for other machines only after a flush", queue,
      reads: [(0, queued, 1, 100, false), (queued, queued, 1, 11, true)])
    add("A flush before the write", queue + [flush(at: 5, by: queued)], reads: [(0, queued, 1, 100, false)])
    add(
      "A flush after the write", queue + [flush(at: 50, by: queued)],
      reads: [(0, queued, 1, 51, false), (0, queued, 1, 60, true)])
    add(
      "Writes of several machines, one after another", byAll([0, 10, 20]),
      reads: [
        (5, contested, versions[0], 9, false), (5, contested, versions[0], 12, false),
        (5, contested, versions[0], 19, true), (5, contested, versions[1], 40, true),
        (5, contested, versions[2], 40, false), (5, contested, versions[2], 19, true),
        (1, contested, versions[0], 11, true),
      ])
    add(
      "Writes of several machines at once", byAll([10, 10, 0]),
      reads: [(5, contested, versions[0], 40, false), (5, contested, versions[1], 40, false)])
    add(
      "An unacknowledged write may take effect at any time", byAll([0, 10, 20], acknowledged: false),
      reads: [(5, contested, versions[0], 40, false)])
    add(
      "A failover may lose the last writes", two, disturbance(101, 102, isFailover: true),
      reads: [(0, key, 1, 200, false), (2, key, 1, 200, false), (2, key, 0, 200, true)])
    add(
      "A failover after their replication", two, disturbance(110, 111, isFailover: true),
      reads: [(0, key, 1, 200, true), (2, key, 1, 200, true)])
    add(
      "A failover before them", two, disturbance(90, 91, isFailover: true),
      reads: [(0, key, 1, 200, true), (2, key, 1, 200, true)])
    return cases
  }()

  @Test(arguments: cases.indices) func readsAreJudged(_ index: Int) {
    let row = Self.cases[index]
    var histories = [[FleetEvent]](repeating: [], count: FleetPlan.machines)
    for (machine, events) in row.events { histories[machine] += events }
    let history = FleetHistory(histories, row.disturbances, offset: 0)
    for read in row.reads {
      let event = FleetEvent(
        .read, key: read.key, version: read.version, start: Self.nanoseconds(read.at),
        end: Self.nanoseconds(read.at + 0.01))
      let finding = history.finding(event, by: read.reader)
      #expect((finding != nil) == read.isFault, "\(row.title): \(read), \(finding ?? "no finding")")
    }
  }

  @Test func keysAreLoadedOrNotAsTheirCasesNeed() {
    #expect(FleetPlan.writer(of: Self.key) == 0 && !FleetPlan.isLoaded(Self.key))
    #expect(FleetPlan.writer(of: Self.loaded) == 0 && FleetPlan.isLoaded(Self.loaded))
    #expect(FleetPlan.writer(of: Self.queued) == Self.queued && !FleetPlan.isLoaded(Self.queued))
  }
}
