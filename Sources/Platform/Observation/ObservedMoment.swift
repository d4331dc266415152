import Observation
import Synchronization

/// A count of changes that Observation tracks. Whoever reads what changes reads ``present`` before it.
///
/// Observation begins to watch a reader when the whole closure has ended that it tracks, and tells it nothing of what was
/// told before. So a change is told again, later and later: who was still in the closure hears of it then. Nobody else is
/// to: a reader is in the slot of the moment that it has read, and what is told again is told to the slots of other
/// moments. (The slots are used in turn. A reader that is still in its closure when its slot is the present one again hears
/// of the next change.)
///
/// Threads: any; one at a time calls ``advance()``.
package final class ObservedMoment: Observable, Sendable {
  /// Between two changes that are told, for whoever calls ``advance()``, so that what changes all the time does not keep
  /// its trackers busy; and before the last one is told again.
  package static let pause: Duration = .milliseconds(10)
  /// Each pause before the last change is told once more is twice the one before, up to this.
  private static let longestPause: Duration = .seconds(3_600)
  private static let slotCount = 64

  private let registrar = ObservationRegistrar()
  private let changes = Atomic<Int>(0)
  /// Tells the last change again.
  private let retelling = Mutex<Task<Void, Never>?>(nil)

  package init() {}

  deinit { retelling.withLock { $0?.cancel() } }

  /// How many changes there were. Reading it has Observation watch it.
  package var present: Int {
    let moment = changes.load(ordering: .acquiring)
    let slot = moment % Self.slotCount
    registrar.access(self, keyPath: \ObservedMoment.[slot])
    return moment
  }

  /// Tells of a change.
  package func advance() {
    let moment = changes.load(ordering: .relaxed)
    // Who is there since an earlier turn, before those come who read from now on.
    tell((moment + 1) % Self.slotCount)
    changes.store(moment + 1, ordering: .releasing)
    tell(moment % Self.slotCount)
    let task = Task { [weak self] in
      var pause = Self.pause
      while true {
        do { try await Task.sleep(for: pause) } catch { return }
        guard self?.tellAgain() != nil else { return }
        pause = min(pause * 2, Self.longestPause)
      }
    }
    retelling.withLock { retelling in
      retelling?.cancel()
      retelling = task
    }
  }

  private func tellAgain() {
    let moment = changes.load(ordering: .acquiring)
    for earlier in max(0, moment + 1 - Self.slotCount)..<moment { tell(earlier % Self.slotCount) }
  }

  /// What Observation knows the readers of a moment by.
  private subscript(slot: Int) -> Int { slot }

  private func tell(_ slot: Int) { registrar.withMutation(of: self, keyPath: \ObservedMoment.[slot]) {} }
}
