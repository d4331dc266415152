import Foundation
import LMDBCaching
import TestSupport

package enum ClockJumpsTrial: RoundTrial {
  package static let name = "clock-jumps"
  package static let summary =
    "The wall clock is set at random, before 1970 and after 2106 too: nothing expired is served, nothing else is lost."
  package static let defaultCount = 200

  private static let steps = 150
  private static let second: Int64 = 1_000_000_000

  package static func run(_ arguments: [String]) throws {
    var round = try Round(arguments[0], SeededRandom(UInt64(arguments[1])!))
    for step in 0..<steps where round.failures.count < 5 { try round.step(step) }
    try round.cache.close()
    for failure in round.failures { answer(failure) }
    count("entries checked", round.checked)
    count("jumps", round.jumps)
  }

  private struct Entry {
    var value: Int
    /// In the cache's time; nil means never.
    var expires: Int64?
    /// Whether it has ever expired: it may then be gone, whatever the clock says now.
    var mayBeGone = false
  }

  private struct Round {
    let path: String
    let clock: ManualClock
    /// The expiry clock, which never follows the wall clock back. Shared with the cache; new after each reopening.
    var time: CacheClock
    var cache: LMDBCache
    var random: SeededRandom
    var entries: [String: Entry] = [:]
    var failures: [String] = []
    var checked = 0
    var jumps = 0

    init(_ path: String, _ random: SeededRandom) throws {
      self.path = path
      self.random = random
      clock = ManualClock(now: 1_700_000_000 * second)
      let time = CacheClock.manual(clock)
      self.time = time
      cache = try TrialCache.open(path) { $0.clock = time }
    }

    mutating func step(_ step: Int) throws {
      switch random.below(10) {
      case 0, 1, 2, 3: try write(step)
      case 4, 5, 6: moveClock(step)
      case 7: try cache.flush()
      case 8: try random.below(2) == 0 ? cache.disk.trim(to: .limits) : cache.trim(to: .count(1_000))
      default:
        if random.below(3) == 0 {
          try cache.close()
          let time = CacheClock.manual(clock)
          self.time = time
          cache = try TrialCache.open(path) { $0.clock = time }
        } else {
          cache.memory.removeAll()
        }
      }
      try check(step)
    }

    private mutating func write(_ step: Int) throws {
      let key = "k\(random.below(12))"
      let isTimed = random.below(2) == 0
      let seconds = Int64(1 + random.below(300))
      try cache.set(step, forKey: key, expires: isTimed ? .after(.seconds(seconds)) : .never)
      let (sum, overflow) = time.now.addingReportingOverflow(seconds * second)
      // 0 is stored for "never".
      entries[key] = Entry(value: step, expires: isTimed ? (overflow ? .max : sum == 0 ? 1 : sum) : nil)
    }

    /// Within a process, cache time never goes back and never trails the wall clock.
    private mutating func moveClock(_ step: Int) {
      let (before, now) = (time.now, clock.now)
      let far: [Int64] = [
        -86_400, 0, 1_700_000_000, 4_294_967_290, 4_294_967_300, 9_000_000_000, -9_000_000_000,
      ].map { $0 * second }
      switch random.below(5) {
      case 0: clock.set(far[random.below(far.count)])
      case 1, 2: clock.set(now + Int64(random.below(2_000) - 1_000) * second)
      default: clock.advance(by: .seconds(random.below(200)))
      }
      if clock.now != now { jumps += 1 }
      if time.now < before || time.now < clock.now {
        failures.append("step \(step): the time is \(time.now), after \(before)")
      }
    }

    private mutating func check(_ step: Int) throws {
      let now = time.now
      for (key, entry) in entries where entry.expires ?? .max <= now { entries[key]!.mayBeGone = true }
      let listed = Set(try cache.entries().map(\.key))
      for (key, entry) in entries.sorted(by: { $0.key < $1.key }) {
        let value = try cache.value(Int.self, forKey: key)
        let disk = try cache.withoutMemory.value(Int.self, forKey: key)
        checked += 1
        let isOver = entry.expires.map { $0 <= now } ?? false
        let text = "step \(step), \(key) at \(now), which expires at \(entry.expires.map(String.init) ?? "no time")"
        if try value != disk || (value != nil) != listed.contains(key) || cache.contains(key) != (value != nil) {
          failures.append("\(text): \(value ?? -1) in memory, \(disk ?? -1) on the disk, and listed or not")
        } else if let value {
          if isOver { failures.append("\(text), is served") }
          if value != entry.value { failures.append("\(text): \(value), and not \(entry.value)") }
        } else if !isOver && !entry.mayBeGone {
          failures.append("\(text) is gone")
        }
      }
    }
  }
}
