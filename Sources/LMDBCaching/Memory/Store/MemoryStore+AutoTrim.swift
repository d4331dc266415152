import Synchronization

extension MemoryStore {
  /// The timer that removes old entries, and its settings.
  struct AutoTrim: Sendable {
    var interval: Duration = .seconds(5)
    var ageLimit: Duration?
    var timer: CacheTimer?
    var isStopped = false
  }

  /// How often old and expired entries are removed; zero or less: never.
  package var autoTrimInterval: Duration {
    get { autoTrim.withLock { $0.interval } }
    set {
      autoTrim.withLock { state in
        guard state.interval != newValue else { return }
        state.interval = newValue
        state.timer = nil
        startTimer(&state)
      }
    }
  }

  /// How long after its last access an entry is kept; `nil` for ever. Applied at the next automatic trim.
  package var ageLimit: Duration? {
    get { autoTrim.withLock { $0.ageLimit } }
    set {
      autoTrim.withLock { state in
        // A negative limit is a mistake, which must not empty the store.
        state.ageLimit = newValue.flatMap { $0 < .zero ? nil : $0 }
        startTimer(&state)
      }
    }
  }

  @usableFromInline @inline(never)
  func expiryWasSet() {
    hasExpiring.store(true, ordering: .relaxed)
    autoTrim.withLock { startTimer(&$0) }
  }

  func stopAutoTrim() {
    autoTrim.withLock { state in
      state.isStopped = true
      state.timer = nil
    }
  }

  private func startTimer(_ state: inout AutoTrim) {
    guard state.timer == nil, !state.isStopped, state.interval > .zero else { return }
    guard state.ageLimit != nil || hasExpiring.load(ordering: .relaxed) else { return }
    state.timer = clock.repeating(every: state.interval) { [weak self] in self?.trimByTime() }
  }

  /// One automatic trim; ends the timer if nothing is left to trim by time.
  func trimByTime() {
    if let age = ageLimit { trim(toAge: age) } else { removeExpired() }
    autoTrim.withLock { state in
      if state.ageLimit == nil, !hasExpiring.load(ordering: .relaxed) { state.timer = nil }
    }
  }
}
