import Dispatch
import Observation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ObservedValueStormTests {
  let directory = CacheDirectory()

  /// A tracker that rereads on every notification ends with the last value.
  @Test(arguments: 0..<8) func theLastChangeIsNeverMissed(_ seed: UInt64) async throws {
    let cache = try directory.open()
    let observed = cache.observe(Int.self, forKey: "key")
    let tracker = Tracker(observed)
    tracker.track()
    var random = SeededRandom(seed)
    for number in 0..<300 {
      try cache.set(number, forKey: "key")
      if random.below(4) == 0 { try await Task.sleep(for: .microseconds(Int64(random.below(3_000)))) }
    }
    #expect(try await becomesTrue { tracker.last.withLock { $0 } == 299 })
    try await cache.close()
  }

  @Test func manyWritersAndTrackers() async throws {
    let cache = try directory.open()
    let trackers = (0..<4).map { _ in Tracker(cache.observe(Int.self, forKey: "key")) }
    for tracker in trackers { tracker.track() }
    let group = DispatchGroup()
    for thread in 0..<3 {
      DispatchQueue.global().async(group: group) {
        for number in 0..<300 {
          try? cache.set(number, forKey: "key")
          if number % 10 == thread { _ = cache.observe(Int.self, forKey: "key").value }
          if number % 50 == thread { Tracker(cache.observe(Int.self, forKey: "key")).track() }
        }
      }
    }
    await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
    try cache.set(-1, forKey: "key")
    for tracker in trackers { #expect(try await becomesTrue { tracker.last.withLock { $0 } == -1 }) }
    try await cache.close()
  }
}

/// Rereads on every notification.
private final class Tracker: Sendable {
  let last = Mutex<Int?>(nil)
  private let observed: ObservedValue<Int>

  init(_ observed: ObservedValue<Int>) { self.observed = observed }

  func track() {
    withObservationTracking {
      let value = observed.value
      last.withLock { $0 = value }
    } onChange: {
      Task { self.track() }
    }
  }
}
