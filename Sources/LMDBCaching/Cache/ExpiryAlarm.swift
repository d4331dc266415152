import Synchronization

/// Notifies the observer of an entry when it expires; removal from the disk comes later.
///
/// The wall clock decides. If it has been set back, the alarm waits on.
final class ExpiryAlarm: Sendable {
  private static let tolerance = Duration.milliseconds(10)

  private struct State {
    var timer: CacheTimer?
    /// Nanoseconds since 1970; 0 for never.
    var expires: Int64 = 0
  }

  private let state = Mutex(State())
  private let clock: CacheClock
  private let key: String
  private let mailbox: ChangeMailbox

  init(_ clock: CacheClock, key: String, mailbox: ChangeMailbox) {
    self.clock = clock
    self.key = key
    self.mailbox = mailbox
  }

  func set(_ expires: Int64) {
    if state.withLock({ $0.expires == expires }) { return }
    // Started and ended without the lock: a timer may fire at once.
    let timer = expires == 0 ? nil : startTimer(expires)
    let old = state.withLock { state in
      let old = state.timer
      state = State(timer: timer, expires: expires)
      return old
    }
    old?.cancel()
  }

  private func startTimer(_ expires: Int64) -> CacheTimer {
    let (rest, overflow) = expires.subtractingReportingOverflow(clock.now)
    let interval = Duration.nanoseconds(overflow ? (expires < 0 ? 1 : .max) : max(1, rest))
    return clock.repeating(every: interval, tolerance: Self.tolerance) { [weak self] in self?.ring(expires) }
  }

  private func ring(_ expires: Int64) {
    // Early by the wall clock: wait on.
    let next = clock.now < expires ? startTimer(expires) : nil
    let (old, isCurrent) = state.withLock { state -> (CacheTimer?, Bool) in
      // Another entry has replaced it, or another thread rings.
      guard state.expires == expires, state.timer != nil else { return (next, false) }
      let old = state.timer
      state = next == nil ? State() : State(timer: next, expires: expires)
      return (old, true)
    }
    old?.cancel()
    if isCurrent, next == nil { mailbox.push(.expired(key: key))?() }
  }
}
