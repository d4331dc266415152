import Foundation
import FoundationArchives
import Observation
import Synchronization

/// Tells Observation of what happens to one key of user defaults. Whoever reads the content reads ``moment`` before it.
///
/// Threads: any.
final class ObservedDefaultsKey: Observable, Sendable {
  private let registrar = ObservationRegistrar()
  private let changes = Atomic<Int>(0)
  /// Of the changes, how many there were when the content was read last.
  private let seen = Atomic<Int>(0)
  private let task = Mutex<Task<Void, Never>?>(nil)

  init(_ defaults: UserDefaults, _ key: String) {
    // From now on, not from when the task runs.
    let moments = DefaultsFeed.shared.watch(key)
    let (first, shared) = (StoredObject(defaults, key), SharedDefaults(defaults: defaults))
    let task = Task { [weak self] in
      var last = first
      for await _ in moments {
        let object = StoredObject(shared.defaults, key)
        // Observation begins to watch when what it tracks has been read: a change in between is told again.
        guard let observed = self else { return }
        if !last.isSame(as: object) || observed.isUnseen { observed.tell() }
        last = object
      }
    }
    self.task.withLock { $0 = task }
  }

  deinit { task.withLock { $0?.cancel() } }

  /// How often the content has changed. Reading it has Observation watch it.
  var moment: Int {
    registrar.access(self, keyPath: \.moment)
    let moment = changes.load(ordering: .acquiring)
    seen.store(moment, ordering: .releasing)
    return moment
  }

  private var isUnseen: Bool { seen.load(ordering: .acquiring) < changes.load(ordering: .acquiring) }

  private func tell() {
    registrar.withMutation(of: self, keyPath: \.moment) { _ = changes.add(1, ordering: .acquiringAndReleasing) }
  }
}
