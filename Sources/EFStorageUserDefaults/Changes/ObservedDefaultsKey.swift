import Foundation
import FoundationArchives
import Observation
import Synchronization

/// Tells Observation of what happens to one key of user defaults. Whoever reads the content reads ``moment`` before it.
///
/// Threads: any.
final class ObservedDefaultsKey: Observable, Sendable {
  /// Between two tellings, so that a key that is written all the time does not keep its trackers busy.
  private static let pause: Duration = .milliseconds(10)

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
        if last.isSame(as: object) { continue }
        last = object
        guard let moment = self?.tell() else { return }
        do { try await Task.sleep(for: Self.pause) } catch { return }
        // Observation begins to watch when what it tracks has been read: a change in between is told again.
        if self?.isUnseen(moment) == true { _ = self?.tell() }
      }
    }
    self.task.withLock { $0 = task }
  }

  deinit { task.withLock { $0?.cancel() } }

  /// How often the content has changed. Reading it has Observation watch it.
  var moment: Int {
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
