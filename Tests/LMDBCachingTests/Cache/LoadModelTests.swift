import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// Random loads, writes and clock jumps, checked against the contract of ``LoadOptions``.
@Suite struct LoadModelTests {
  let directory = CacheDirectory()

  struct Failure: Error {}

  /// The start of each column in the table of ``LoadOptions``, in nanoseconds since 1970.
  private struct Entry {
    /// Nil: a cached absence.
    var value: Int?
    var expires = Int64.max
    var refresh = Int64.max
    /// Loads may serve the value until then.
    var kept = Int64.max
  }

  private struct Pause {
    var failures = 0
    var end = Int64.min
  }

  private final class Source: Sendable {
    private let state = Mutex((value: 0, fails: false, isAbsent: false, calls: 0))

    var calls: Int { state.withLock { $0.calls } }

    func prepare(_ value: Int, fails: Bool, isAbsent: Bool) {
      state.withLock { ($0.value, $0.fails, $0.isAbsent) = (value, fails, isAbsent) }
    }

    func load() throws -> Int? {
      try state.withLock { state in
        state.calls += 1
        if state.fails { throw Failure() }
        return state.isAbsent ? nil : state.value
      }
    }
  }

  private final class Model {
    let clock = ManualClock()
    var random: SeededRandom
    var cache: LMDBCache
    let open: (ManualClock) throws -> LMDBCache
    let options: LoadOptions
    let source = Source()
    var entries: [String: Entry] = [:]
    var pauses: [String: Pause] = [:]
    var lastValue = 0
    var counts: [String: Int] = [:]

    init(seed: UInt64, open: @escaping (ManualClock) throws -> LMDBCache) throws {
      random = SeededRandom(seed)
      self.open = open
      cache = try open(clock)
      var options = LoadOptions(lifetime: .seconds(1 + random.below(20)))
      if random.below(2) == 0 { options.refreshAhead = [0.25, 0.5, 1][random.below(3)] }
      if random.below(3) > 0 { options.staleWhileRevalidate = .seconds(random.below(15)) }
      if random.below(3) > 0 { options.failSafe = .seconds(random.below(30)) }
      if random.below(2) == 0 { options.absenceLifetime = .seconds(random.below(10)) }
      if random.below(3) == 0 { options.timeLimit = .seconds(3_600) }
      options.pauseAfterFailure = .seconds(random.below(5))
      options.longestPause = .seconds(8)
      self.options = options
    }

    func nanoseconds(_ duration: Duration) -> Int64 { duration.clampedNanoseconds }
    var now: Int64 { clock.now }

    func newValue() -> Int {
      lastValue += 1
      return lastValue
    }

    func noteLoad(_ key: String, _ value: Int?, fails: Bool) {
      if fails {
        var pause = pauses[key] ?? Pause()
        if pause.end <= clock.monotonic {
          let length = nanoseconds(options.pauseAfterFailure) << Int64(min(pause.failures, 32))
          pause.failures += 1
          pause.end = clock.monotonic + min(length, nanoseconds(options.longestPause))
          pauses[key] = pause
        }
        return
      }
      pauses[key] = nil
      if let value {
        let lifetime = nanoseconds(options.lifetime!)
        var entry = Entry(value: value, expires: now + lifetime)
        let refresh = options.refreshAhead.map { now + Int64(Double(lifetime) * $0) } ?? .max
        if refresh < entry.expires { entry.refresh = refresh }
        entry.kept = entry.expires + nanoseconds(max(options.staleWhileRevalidate, options.failSafe))
        entries[key] = entry
      } else if let lifetime = options.absenceLifetime {
        entries[key] = Entry(value: nil, expires: .min, kept: now + nanoseconds(lifetime))
      }
    }

    enum Standing: Equatable {
      case fresh(Int?)
      case due(Int?)
      case fallback(Int)
      case missing
    }

    func standing(_ key: String, servesAbsence: Bool) -> Standing {
      guard let entry = entries[key], now < max(entry.kept, entry.expires) else { return .missing }
      guard let value = entry.value else { return servesAbsence ? .fresh(nil) : .missing }
      let isPausing = (pauses[key]?.end ?? .min) > clock.monotonic
      if now < entry.expires { return entry.refresh <= now && !isPausing ? .due(value) : .fresh(value) }
      if now < entry.expires + nanoseconds(options.staleWhileRevalidate) {
        return isPausing ? .fresh(value) : .due(value)
      }
      if now < entry.expires + nanoseconds(options.failSafe) { return isPausing ? .fresh(value) : .fallback(value) }
      return .missing
    }

    func read() throws {
      let key = "key\(random.below(4))"
      let servesAbsence = random.below(3) == 0
      let standing = standing(key, servesAbsence: servesAbsence)
      let (value, fails, isAbsent) = (newValue(), random.below(3) == 0, servesAbsence && random.below(3) == 0)
      let before = source.calls
      source.prepare(value, fails: fails, isAbsent: isAbsent)
      let result = Result { try ask(key, servesAbsence: servesAbsence) }
      // Background refreshes must finish first.
      guard eventually({ cache.refreshes.withLock(\.isEmpty) }) else { throw Mismatch("a refresh does not end") }
      let calls = source.calls - before
      let expected: Result<Int?, Failure>
      switch standing {
      case .fresh(let there): expected = .success(there)
      case .due(let there): expected = .success(there)
      case .fallback(let there): expected = .success(fails ? there : isAbsent ? nil : value)
      case .missing: expected = fails ? .failure(Failure()) : .success(isAbsent ? nil : value)
      }
      let isLoaded = if case .fresh = standing { false } else { true }
      count("\(standing)".prefix { $0 != "(" }.description + (fails && isLoaded ? " failing" : ""))
      if isLoaded { noteLoad(key, isAbsent ? nil : value, fails: fails) }
      if calls != (isLoaded ? 1 : 0) { throw Mismatch("\(calls) loads of \(key), which was \(standing)") }
      switch (result, expected) {
      case (.success(let found), .success(let wanted)) where found == wanted: break
      case (.failure(let error), .failure) where error is Failure: break
      default: throw Mismatch("\(key), \(standing): \(result), and not \(expected)")
      }
    }

    private func ask(_ key: String, servesAbsence: Bool) throws -> Int? {
      if servesAbsence {
        return try cache.optionalValue(Int.self, forKey: key, options: options) { [source] _ in try source.load() }
      }
      return try cache.value(Int.self, forKey: key, options: options) { [source] _ in try source.load()! }
    }

    /// Reads without a loader see unexpired values only.
    func readPlainly() throws {
      let key = "key\(random.below(4))"
      let entry = entries[key]
      let expected = entry.flatMap { now < $0.expires ? $0.value : nil }
      let found = try cache.value(Int.self, forKey: key)
      if found != expected {
        throw Mismatch("\(key) is \(String(describing: found)), not \(String(describing: expected))")
      }
      if try cache.contains(key) != (expected != nil) { throw Mismatch("contains \(key)") }
      count("plain read")
    }

    func write() throws {
      let (key, value) = ("key\(random.below(4))", newValue())
      switch random.below(4) {
      case 0:
        try cache.removeValue(forKey: key)
        entries[key] = nil
      case 1:
        let seconds = random.below(10) + 1
        try cache.set(value, forKey: key, expires: .after(.seconds(seconds)))
        let expires = now + Int64(seconds) * 1_000_000_000
        entries[key] = Entry(value: value, expires: expires, kept: expires)
      default:
        try cache.set(value, forKey: key)
        entries[key] = Entry(value: value)
      }
      count("write")
    }

    func step() throws {
      switch random.below(20) {
      case 0..<9: try read()
      case 9..<11: try readPlainly()
      case 11: try write()
      case 12: cache.memory.removeAll()
      case 13: try cache.flush()
      case 14: try cache.disk.trim(to: .limits)
      case 15:
        if random.below(4) > 0 { return }
        try cache.close()
        cache = try open(clock)
        // A reopened cache has no record of failures.
        pauses = [:]
        count("reopening")
      default: clock.advance(by: .milliseconds(random.below(6_000)))
      }
    }

    func count(_ name: String) { counts[name, default: 0] += 1 }
  }

  private struct Mismatch: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  @Test(arguments: 0..<12 as Range<UInt64>) func everyReadIsWhatTheOptionsSay(_ seed: UInt64) throws {
    let model = try Model(seed: seed) { clock in
      try directory.open {
        $0.clock = .manual(clock)
        if seed % 3 == 0 { $0.memory.countLimit = 0 }
        if seed % 2 == 0 { neverCommitting(&$0) }
      }
    }
    for step in 0..<600 {
      do { try model.step() } catch {
        Issue.record("seed \(seed), step \(step): \(error)")
        break
      }
    }
    for name in ["fresh", "missing", "missing failing", "plain read", "write"] {
      #expect(model.counts[name, default: 0] > 0, "\(name) of \(model.counts)")
    }
    try model.cache.close()
  }
}
