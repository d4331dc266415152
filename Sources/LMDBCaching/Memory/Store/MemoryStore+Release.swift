import Synchronization

extension MemoryStore {
  package var releasesAsynchronously: Bool {
    let mode = disposal.mode.load(ordering: .relaxed)
    return mode == DisposalQueue<Pair>.Mode.background || mode == DisposalQueue<Pair>.Mode.main
  }

  package var releasesOnMainThread: Bool {
    disposal.mode.load(ordering: .relaxed) >= DisposalQueue<Pair>.Mode.main
  }

  /// Where values are released: by the caller, on a background queue, on the main thread now, or on it later.
  package func setsRelease(asynchronously: Bool, onMainThread: Bool) {
    typealias Mode = DisposalQueue<Pair>.Mode
    let mode =
      onMainThread
      ? (asynchronously ? Mode.main : Mode.mainSynchronously) : (asynchronously ? Mode.background : Mode.caller)
    disposal.mode.store(mode, ordering: .relaxed)
  }

  /// The moment `duration` from now, or `nil` if not in the future.
  @usableFromInline
  func moment(after duration: Duration) -> Int64? {
    let nanoseconds = duration.clampedNanoseconds
    if nanoseconds <= 0 { return nil }
    let (moment, overflow) = clock.now.addingReportingOverflow(nanoseconds)
    return overflow ? .max : moment
  }
}
