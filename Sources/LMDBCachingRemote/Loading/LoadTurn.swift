import Platform

/// What a machine does that needs a value that nobody here has. Pure: it asks for nothing itself.
///
/// It looks whether the fleet has one. If not, one machine of the fleet takes the lease of the key and loads; the
/// others look again after ever longer pauses, until there is a value, or the lease is free, or they have waited long
/// enough.
struct LoadTurn: Sendable {
  enum Step: Sendable, Equatable {
    /// Look at the entry.
    case look
    /// Take the lease if it is free, and look at the entry after that: what was stored by who had the lease before is
    /// found then.
    case ask
    /// Nanoseconds.
    case pause(Int64)
    /// Load. With the lease what is loaded is published.
    case load(hasLease: Bool)
  }

  private static let firstPause: Int64 = 2_000_000
  private static let longestPause: Int64 = 50_000_000

  private let end: Int64
  private var nextPause = firstPause

  private(set) var step = Step.look

  /// - Parameters: Nanoseconds of a clock that never goes back.
  init(now: Int64, limit: Int64) { end = now.addingClamped(limit) }

  /// There is no value.
  mutating func didLook() { step = .ask }

  /// There is no value; `hasLease` says whether it is this machine's turn.
  mutating func didAsk(hasLease: Bool, now: Int64) {
    if hasLease {
      step = .load(hasLease: true)
    } else if now >= end {
      step = .load(hasLease: false)
    } else {
      step = .pause(min(nextPause, end - now))
      nextPause = min(nextPause * 2, Self.longestPause)
    }
  }

  mutating func didPause() { step = .ask }

  /// The server does not answer, or takes no lease.
  mutating func didFail() { step = .load(hasLease: false) }
}
