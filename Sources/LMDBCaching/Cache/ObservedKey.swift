import Observation
import Synchronization

/// Tells Observation of what happens to the entry under one key. Whoever reads the entry reads ``moment`` before it.
///
/// Observation begins to watch a reader when the whole closure has ended that it tracks, and tells it nothing of what was
/// told before. So a change is told again, later and later: who was still in the closure hears of it then. Nobody else is
/// to: a reader is in the slot of the moment that it has read, and what is told again is told to the slots of other
/// moments. (The slots are used in turn. A reader that is still in its closure when its slot is the present one again hears
/// of the next change.)
///
/// Threads: any.
package final class ObservedKey: Observable, Sendable {
  /// Between two changes that are told, so that a key that is written all the time does not keep its trackers busy; and
  /// before the last one is told again.
  private static let pause: Duration = .milliseconds(10)
  /// Each pause before the last change is told once more is twice the one before, up to this.
  private static let longestPause: Duration = .seconds(3_600)
  private static let slotCount = 64

  private struct Tasks {
    var following: Task<Void, Never>?
    /// Tells the last change again.
    var retelling: Task<Void, Never>?
  }

  private let registrar = ObservationRegistrar()
  /// Changed by the task that follows only.
  private let changes = Atomic<Int>(0)
  private let tasks = Mutex(Tasks())

  package init(_ cache: LMDBCache, key: String) {
    // From now on, not from when the task runs.
    var changes = KeyChanges(cache, key: key)
    _ = changes.isNew(Self.entry(cache, key))
    let task = Task { [weak self, weak cache, changes] in
      var changes = changes
      // The first one is the present entry.
      _ = await changes.next()
      while await changes.next() {
        guard let cache else { return }
        // Where much happens to other keys it may be none of this one.
        guard changes.isNew(Self.entry(cache, key)) else { continue }
        guard self?.tell() != nil else { return }
        do { try await Task.sleep(for: Self.pause) } catch { return }
      }
    }
    tasks.withLock { $0.following = task }
  }

  /// `nil` if there is no entry on the disk, or it cannot be read.
  private static func entry(_ cache: LMDBCache, _ key: String) -> CacheEntry? {
    do throws(CacheError) { return try cache.entry(forKey: key) } catch { return nil }
  }

  deinit {
    tasks.withLock { tasks in
      tasks.following?.cancel()
      tasks.retelling?.cancel()
    }
  }

  /// How often the entry has changed. Reading it has Observation watch it.
  package var moment: Int {
    let moment = changes.load(ordering: .acquiring)
    let slot = moment % Self.slotCount
    registrar.access(self, keyPath: \ObservedKey.[slot])
    return moment
  }

  /// What Observation knows the readers of a moment by.
  private subscript(slot: Int) -> Int { slot }

  private func tell(_ slot: Int) { registrar.withMutation(of: self, keyPath: \ObservedKey.[slot]) {} }

  private func tell() {
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
    tasks.withLock { tasks in
      tasks.retelling?.cancel()
      tasks.retelling = task
    }
  }

  private func tellAgain() {
    let moment = changes.load(ordering: .acquiring)
    for earlier in max(0, moment + 1 - Self.slotCount)..<moment { tell(earlier % Self.slotCount) }
  }
}
