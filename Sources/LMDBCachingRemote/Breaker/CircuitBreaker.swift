import LMDBCaching
import Platform

/// When a remote tier that fails is asked again. A value: whoever has it guards it.
///
/// Closed, everything is asked. After several failures in a row it is open: nothing is asked for a while, then one
/// request, whose success closes it, and whose failure makes the next while twice as long. M. Nygard, "Release It!"
/// (2007).
///
/// Requests that were under way together, and fail together, are one failure: what one stall of the server holds up
/// says it once.
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
  /// When the last failure was noted.
  private var lastFailure = Int64.min
  /// What it was; `nil` while it is closed.
  private(set) var failure: RemoteTierError?

  init(_ settings: BreakerSettings) {
    self.settings = settings
    pause = settings.firstPause.clampedNanoseconds
  }

  /// Whether requests failed, and none has succeeded since.
  var isOpen: Bool { if case .closed = state { false } else { true } }

  /// Whether a request may be made. The one that is let through when the pause is over has to be followed by
  /// ``noteSuccess()`` or ``noteFailure(_:now:since:random:)``; if it is not, another one is let through after as long
  /// a pause.
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
    failure = nil
    pause = settings.firstPause.clampedNanoseconds
  }

  /// - Parameters:
  ///   - start: When the request was begun.
  ///   - random: From 0 to 1: by how much of its half a pause is shorter, so that a fleet does not come back at one
  ///     moment.
  /// - Returns: Whether it is open now and was not before.
  mutating func noteFailure(_ error: RemoteTierError, now: Int64, since start: Int64, random: Double) -> Bool {
    switch state {
    case .closed where start < lastFailure: return false
    case .closed(let failures) where failures + 1 < settings.failures:
      state = .closed(failures: failures + 1)
      lastFailure = now
      return false
    case .closed:
      state = .open(until: now.addingClamped(jittered(random)))
      (lastFailure, failure) = (now, error)
      return true
    case .open: return false
    case .trying(let trial):
      if start < trial { return false }
      pause = min(pause.multipliedClamped(by: 2), settings.longestPause.clampedNanoseconds)
      state = .open(until: now.addingClamped(jittered(random)))
      (lastFailure, failure) = (now, error)
      return false
    }
  }

  /// The server can be reached, as somebody else has seen: if that was the trouble it is over.
  ///
  /// - Parameter start: When the request was begun that was answered.
  /// - Returns: Whether it is closed now and was not before.
  mutating func noteReachable(since start: Int64) -> Bool {
    guard isOpen, start >= lastFailure,
      failure.map({ $0.code == .unreachable || $0.code == .timedOut }) ?? true
    else { return false }
    noteSuccess()
    return true
  }

  /// The server may be another one: it is tried at once.
  mutating func endPause(now: Int64) { if case .open(let end) = state { state = .open(until: min(end, now)) } }

  private func jittered(_ random: Double) -> Int64 { pause - Int64(Double(pause) / 2 * random) }
}
