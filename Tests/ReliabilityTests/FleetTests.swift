import Testing

@testable import Reliability

@Suite struct FleetTests {
  @Test func noReadIsOlderThanStated() throws {
    let report = try shortTrial(FleetTrial.self, count: 20_000)
    #expect(report["reads"] > 10_000)
    #expect(report["acknowledged writes"] > 300)
    #expect(report["entries compared"] == FleetPlan.machines * FleetPlan.keys)
  }

  // MARK: The judge

  private static let second: Int64 = 1_000_000_000
  /// Written by machine 0, without a loader.
  private static let key = 0
  /// Written by machine 0, read through a loader.
  private static let loadedKey = 12
  private static let contestedKey = FleetPlan.ownKeys

  /// A write that took 10 ms.
  private static func write(
    _ key: Int, _ version: Int, at time: Int64, isRemoval: Bool = false, expires: Int64 = 0
  ) -> [FleetEvent] {
    [.begun, .acknowledged].map {
      FleetEvent(
        $0, key: key, version: version, isRemoval: isRemoval, expires: expires, start: time,
        end: time + second / 100)
    }
  }

  private static func finding(
    _ writes: [[FleetEvent]], _ disturbances: [FleetHistory.Disturbance] = [], reader: Int, key: Int = key,
    version: Int, at time: Int64
  ) -> String? {
    let read = FleetEvent(.read, key: key, version: version, start: time, end: time + second / 100)
    return FleetHistory([writes.flatMap(\.self)], disturbances, offset: 0).finding(read, by: reader)
  }

  @Test func eventsAreReadAsTheyWereWritten() {
    var event = FleetEvent(
      .acknowledged, key: 199, version: 7, isRemoval: true, expires: -3, start: 5, end: .max)
    #expect(FleetEvent(event.bytes[...]) == event)
    (event.hasFailure, event.isRemoval) = (true, false)
    #expect(FleetEvent(event.bytes[...]) == event)
    #expect(event.bytes.count == FleetEvent.size)
    #expect(FleetEvent([UInt8](repeating: 9, count: FleetEvent.size)[...]) == nil)
  }

  @Test func anOlderValueIsFoundAfterItsBound() {
    let writes = [Self.write(Self.key, 1, at: 0), Self.write(Self.key, 2, at: 100 * Self.second)]
    let bound = FleetPlan.bound(reader: 2) + 500_000_000
    let time = 100 * Self.second + bound
    #expect(Self.finding(writes, reader: 2, version: 1, at: time) == nil)
    #expect(Self.finding(writes, reader: 2, version: 1, at: time + Self.second) != nil)
    #expect(Self.finding(writes, reader: 2, version: 2, at: time + Self.second) == nil)
    // The writer sees it at once.
    #expect(Self.finding(writes, reader: 0, version: 1, at: 101 * Self.second) != nil)
    #expect(Self.finding(writes, reader: 2, version: 3, at: time) != nil, "nobody wrote it")
    #expect(Self.finding(writes, reader: 2, version: 2, at: 99 * Self.second) != nil, "it was not written yet")
  }

  @Test func whatIsGoneIsFoundUnlessTheServerLostIt() {
    let writes = [Self.write(Self.key, 1, at: 0)]
    func disturbance(_ start: Int64, _ end: Int64, empties: Bool) -> [FleetHistory.Disturbance] {
      [FleetHistory.Disturbance(start: start * Self.second, end: end * Self.second, empties: empties)]
    }
    let time = 100 * Self.second
    #expect(Self.finding(writes, reader: 2, version: 0, at: time) != nil)
    #expect(Self.finding(writes, disturbance(50, 51, empties: true), reader: 2, version: 0, at: time) == nil)
    #expect(Self.finding(writes, disturbance(50, 51, empties: false), reader: 2, version: 0, at: time) != nil)
    #expect(Self.finding(writes, disturbance(99, 101, empties: false), reader: 2, version: 0, at: time) == nil)
    // A later write must be there.
    let later = writes + [Self.write(Self.key, 2, at: 60 * Self.second)]
    #expect(Self.finding(later, disturbance(50, 51, empties: true), reader: 2, version: 0, at: time) != nil)
    let removed = writes + [Self.write(Self.key, 2, at: 60 * Self.second, isRemoval: true)]
    #expect(Self.finding(removed, reader: 2, version: 0, at: time) == nil)
    // A loader always returns something.
    let loaded = [Self.write(Self.loadedKey, 1, at: 0, isRemoval: true)]
    #expect(Self.finding(loaded, reader: 2, key: Self.loadedKey, version: 1, at: time) == nil)
    let emptied = disturbance(50, 51, empties: true)
    #expect(Self.finding(loaded, emptied, reader: 2, key: Self.loadedKey, version: 0, at: time) != nil)
  }

  @Test func whatHasExpiredIsFound() {
    let writes = [Self.write(Self.key, 1, at: 0, expires: 50 * Self.second)]
    #expect(Self.finding(writes, reader: 0, version: 1, at: 49 * Self.second) == nil)
    #expect(Self.finding(writes, reader: 0, version: 1, at: 51 * Self.second) != nil)
    #expect(Self.finding(writes, reader: 0, version: 0, at: 51 * Self.second) == nil)
    #expect(Self.finding(writes, reader: 0, version: 0, at: 40 * Self.second) != nil)
  }

  @Test func keysAreLoadedOrNotAsTheyShould() {
    #expect(FleetPlan.writer(of: Self.key) == 0 && !FleetPlan.isLoaded(Self.key))
    #expect(FleetPlan.writer(of: Self.loadedKey) == 0 && FleetPlan.isLoaded(Self.loadedKey))
    let version = FleetPlan.version(77, machine: 5, thread: 1)
    #expect(FleetPlan.machine(ofVersion: version) == 5 && version & 0xFFFF_FFFF == 77)
  }

  /// Queued writes count for other machines only after a flush.
  @Test func whatWaitsIsNotThereYet() {
    let machine = FleetPlan.queueMachines[1]
    let key = machine
    #expect(FleetPlan.writer(of: key) == machine && !FleetPlan.isLoaded(key))
    func finding(flushed: Int64?, reader: Int, at time: Int64) -> String? {
      var histories = [[FleetEvent]](repeating: [], count: FleetPlan.machines)
      histories[machine] = Self.write(key, 1, at: 0) + Self.write(key, 2, at: 10 * Self.second)
      if let flushed {
        histories[machine].append(
          FleetEvent(.flushed, key: 0, version: 0, start: flushed * Self.second, end: (flushed + 1) * Self.second))
      }
      let start = time * Self.second
      let read = FleetEvent(.read, key: key, version: 1, start: start, end: start + 1)
      return FleetHistory(histories, [], offset: 0).finding(read, by: reader)
    }
    #expect(finding(flushed: nil, reader: 0, at: 100) == nil)
    #expect(finding(flushed: 5, reader: 0, at: 100) == nil)
    #expect(finding(flushed: 50, reader: 0, at: 51) == nil)
    #expect(finding(flushed: 50, reader: 0, at: 60) != nil)
    #expect(finding(flushed: nil, reader: machine, at: 11) != nil)
  }

  @Test func aKeyThatManyWriteIsJudgedByTheOrderOfTheirWrites() {
    let versions = (0..<3).map { FleetPlan.version(1, machine: $0, thread: 0) }
    func finding(
      _ starts: [Int64], read version: Int, by reader: Int = 5, at time: Int64, isAcknowledged: Bool = true
    ) -> String? {
      var histories = starts.enumerated().map { machine, start in
        Self.write(Self.contestedKey, versions[machine], at: start * Self.second)
      }
      if !isAcknowledged { histories[0].removeLast() }
      let start = time * Self.second
      let read = FleetEvent(.read, key: Self.contestedKey, version: versions[version], start: start, end: start + 1)
      return FleetHistory(histories, [], offset: 0).finding(read, by: reader)
    }
    // Sequential writes.
    #expect(finding([0, 10, 20], read: 0, at: 9) == nil)
    #expect(finding([0, 10, 20], read: 0, at: 12) == nil)
    #expect(finding([0, 10, 20], read: 0, at: 19) != nil)
    #expect(finding([0, 10, 20], read: 1, at: 40) != nil)
    #expect(finding([0, 10, 20], read: 2, at: 40) == nil)
    #expect(finding([0, 10, 20], read: 2, at: 19) != nil, "it was not written yet")
    // Concurrent writes: either may be the last.
    #expect(finding([10, 10, 0], read: 0, at: 40) == nil)
    #expect(finding([10, 10, 0], read: 1, at: 40) == nil)
    // The writer sees it at once.
    #expect(finding([0, 10, 20], read: 0, by: 1, at: 11) != nil)
    // An unacknowledged write may take effect at any time.
    #expect(finding([0, 10, 20], read: 0, at: 40, isAcknowledged: false) == nil)
  }

  @Test func whatAFailoverMayLoseIsExcused() {
    let writes = [Self.write(Self.key, 1, at: 0), Self.write(Self.key, 2, at: 100 * Self.second)]
    func failover(_ start: Int64) -> [FleetHistory.Disturbance] {
      [FleetHistory.Disturbance(start: start * Self.second, end: (start + 1) * Self.second, isFailover: true)]
    }
    let time = 200 * Self.second
    for reader in [0, 2] {
      #expect(Self.finding(writes, failover(101), reader: reader, version: 1, at: time) == nil)
      #expect(Self.finding(writes, failover(110), reader: reader, version: 1, at: time) != nil)
      #expect(Self.finding(writes, failover(90), reader: reader, version: 1, at: time) != nil)
    }
    #expect(Self.finding(writes, failover(101), reader: 2, version: 0, at: time) != nil)
  }
}
