import Observation
import Synchronization

/// A count of changes that Observation tracks. Readers of changing state read ``present`` first.
///
/// Observation starts to watch a reader only when its whole tracked closure has ended, and drops changes before that.
/// So each change is announced again at growing intervals, to reach readers that were still in the closure. Other
/// readers must not hear it twice: each reader is in the slot of the moment it read, and repetitions go to the slots of
/// other moments. (Slots are reused in turn. A reader still in its closure when its slot comes around hears of the next
/// change.)
///
/// Threads: any; only one at a time calls ``advance()``.
package final class ObservedMoment: Observable, Sendable {
  /// The minimum pause between two announced changes, for callers of ``advance()``, so that constant changes do not
  /// keep trackers busy; and the pause before the first repetition.
  package static let pause: Duration = .milliseconds(10)
  /// Pauses between repetitions double up to this limit.
  private static let longestPause: Duration = .seconds(3_600)
  private static let slotCount = 64

  private let registrar = ObservationRegistrar()
  private let changes = Atomic<Int>(0)
  /// Repeats the last change.
  private let retelling = Mutex<Task<Void, Never>?>(nil)

  package init() {}

  deinit { retelling.withLock { $0?.cancel() } }

  /// The number of changes. Reading it registers with Observation.
  package var present: Int {
    let moment = changes.load(ordering: .acquiring)
    let slot = moment % Self.slotCount
    registrar.access(self, keyPath: \ObservedMoment.[slot])
    return moment
  }

  /// Announces a change.
  package func advance() {
    let moment = changes.load(ordering: .relaxed)
    // Notify readers left from an earlier turn before new readers join the slot.
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

  /// The key path under which Observation tracks the readers of a moment.
  private subscript(slot: Int) -> Int { slot }

  private func tell(_ slot: Int) { registrar.withMutation(of: self, keyPath: \ObservedMoment.[slot]) {} }
}
