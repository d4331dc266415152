import Foundation
import FoundationArchives
import Platform

/// Notifies Observation of changes of one key of user defaults. Read ``moment`` before the content. Threads: any.
final class ObservedDefaultsKey: Sendable {
  private let changed: ObservedMoment
  private let following: Task<Void, Never>

  init(_ defaults: UserDefaults, _ key: String) {
    // From now on, not from when the task runs.
    let moments = DefaultsFeed.shared.watch(key)
    let (first, shared) = (StoredObject(defaults, key), SharedDefaults(defaults: defaults))
    let changed = ObservedMoment()
    self.changed = changed
    following = Task { [weak changed] in
      var last = first
      for await _ in moments {
        let object = StoredObject(shared.defaults, key)
        if last.isSame(as: object) { continue }
        last = object
        guard changed?.advance() != nil else { return }
        do { try await Task.sleep(for: ObservedMoment.pause) } catch { return }
      }
    }
  }

  deinit { following.cancel() }

  /// How often the content has changed. Reading it registers with Observation.
  var moment: Int { changed.present }
}
