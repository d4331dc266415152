import Observation
import Synchronization

/// Tells Observation of what happens to the entry under one key. Whoever reads the entry reads ``moment`` before it.
///
/// Threads: any.
package final class ObservedKey: Observable, Sendable {
  /// Between two tellings, so that a key that is written all the time does not keep its trackers busy.
  private static let pause: Duration = .milliseconds(10)

  private let registrar = ObservationRegistrar()
  private let changes = Atomic<Int>(0)
  /// Of the changes, how many there were when the entry was read last.
  private let seen = Atomic<Int>(0)
  private let task = Mutex<Task<Void, Never>?>(nil)

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
        guard let moment = self?.tell() else { return }
        do { try await Task.sleep(for: Self.pause) } catch { return }
        // Observation begins to watch when what it tracks has been read: a change in between is told again.
        if self?.isUnseen(moment) == true { _ = self?.tell() }
      }
    }
    self.task.withLock { $0 = task }
  }

  /// `nil` if there is no entry on the disk, or it cannot be read.
  private static func entry(_ cache: LMDBCache, _ key: String) -> CacheEntry? {
    do throws(CacheError) { return try cache.entry(forKey: key) } catch { return nil }
  }

  deinit { task.withLock { $0?.cancel() } }

  /// How often the entry has changed. Reading it has Observation watch it.
  package var moment: Int {
    registrar.access(self, keyPath: \.moment)
    let moment = changes.load(ordering: .acquiring)
    seen.max(moment, ordering: .acquiringAndReleasing)
    return moment
  }

  private func tell() -> Int {
    registrar.withMutation(of: self, keyPath: \.moment) { changes.add(1, ordering: .acquiringAndReleasing).newValue }
  }

  private func isUnseen(_ moment: Int) -> Bool { seen.load(ordering: .acquiring) < moment }
}
