import LMDBCaching

/// When a remote tier that fails is asked again. A value: whoever has it guards it.
///
/// Closed, everything is asked. After several failures in a row it is open: nothing is asked for a while, then one
/// request, whose success closes it, and whose failure makes the next while twice as long. M. Nygard, "Release It!" (2007).
struct CircuitBreaker: Sendable {
  private enum State: Sendable {
    case closed(failures: Int)
    /// Until then, in nanoseconds of the monotonic clock.
    case open(until: Int64)
    /// One request is under way, since then.
    case trying(since: Int64)
  }

  private let settings: BreakerSettings
  private var state = State.closed(failures: 0)
  private var pause: Int64

  init(_ settings: BreakerSettings) {
    self.settings = settings
    pause = settings.firstPause.clampedNanoseconds
  }

  /// Whether requests failed, and none has succeeded since.
  var isOpen: Bool { if case .closed = state { false } else { true } }

  /// Whether no request may be made.
  func isPausing(now: Int64) -> Bool { if case .open(let end) = state { now < end } else { false } }

  /// Whether a request may be made. The one that is let through when the pause is over has to be followed by
  /// ``noteSuccess()`` or ``noteFailure(now:random:)``; if it is not, another one is let through after as long a pause.
  mutating func isAllowed(now: Int64) -> Bool {
    switch state {
    case .closed: return true
    case .open(let end):
      if now < end { return false }
    case .trying(let start):
      if now - start < pause { return false }
    }
    state = .trying(since: now)
    return true
  }

  mutating func noteSuccess() {
    state = .closed(failures: 0)
    pause = settings.firstPause.clampedNanoseconds
  }

  /// - Parameter random: From 0 to 1: by how much of its half a pause is shorter, so that a fleet does not come back at
  ///   one moment.
  /// - Returns: Whether it is open now and was not before.
  mutating func noteFailure(now: Int64, random: Double) -> Bool {
    switch state {
    case .closed(let failures) where failures + 1 < settings.failures:
      state = .closed(failures: failures + 1)
      return false
    case .closed:
      state = .open(until: now + jittered(random))
      return true
    case .open: return false
    case .trying:
      pause = min(pause * 2, settings.longestPause.clampedNanoseconds)
      state = .open(until: now + jittered(random))
      return false
    }
  }

  private func jittered(_ random: Double) -> Int64 { pause - Int64(Double(pause) / 2 * random) }
}
