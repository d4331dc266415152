import Testing

@testable import Reliability

@Suite struct FleetTests {
  @Test func noReadIsOlderThanStated() throws {
    let report = try shortTrial(FleetTrial.self, count: 20_000)
    #expect(report["reads"] > 10_000)
    #expect(report["acknowledged writes"] > 300)
    #expect(report["entries compared"] == 1_000)
  }

  // MARK: The judge

  private static let second: Int64 = 1_000_000_000
  /// Written by machine 0, read through no loader.
  private static let key = 0
  /// The same, made by a loader.
  private static let loadedKey = 10

  /// A write that took a hundredth of a second.
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
    let event = FleetEvent(
      .acknowledged, key: 199, version: 7, isRemoval: true, expires: -3, start: 5, end: .max)
    #expect(FleetEvent(event.bytes[...]) == event)
    #expect(event.bytes.count == FleetEvent.size)
    #expect(FleetEvent([UInt8](repeating: 9, count: FleetEvent.size)[...]) == nil)
  }

  @Test func anOlderValueIsFoundAfterItsBound() {
    let writes = [Self.write(Self.key, 1, at: 0), Self.write(Self.key, 2, at: 100 * Self.second)]
    let bound = FleetPlan.bound(Self.key, reader: 2)!
    let time = 100 * Self.second + bound
    #expect(Self.finding(writes, reader: 2, version: 1, at: time) == nil)
    #expect(Self.finding(writes, reader: 2, version: 1, at: time + Self.second) != nil)
    #expect(Self.finding(writes, reader: 2, version: 2, at: time + Self.second) == nil)
    // Who wrote it sees it at once.
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
    // What was written after that has no excuse.
    let later = writes + [Self.write(Self.key, 2, at: 60 * Self.second)]
    #expect(Self.finding(later, disturbance(50, 51, empties: true), reader: 2, version: 0, at: time) != nil)
    let removed = writes + [Self.write(Self.key, 2, at: 60 * Self.second, isRemoval: true)]
    #expect(Self.finding(removed, reader: 2, version: 0, at: time) == nil)
    // A loader always has something.
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
}
