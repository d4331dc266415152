import Platform

/// Notifies Observation of changes of one entry. Read ``moment`` before the entry. Threads: any.
package final class ObservedKey: Sendable {
  private let changed: ObservedMoment
  private let following: Task<Void, Never>

  package init(_ cache: LMDBCache, key: String) {
    // From now on, not from when the task runs.
    var changes = KeyChanges(cache, key: key)
    _ = changes.isNew(Self.entry(cache, key))
    let changed = ObservedMoment()
    self.changed = changed
    following = Task { [weak changed, weak cache, changes] in
      var changes = changes
      // The first one is the present entry.
      _ = await changes.next()
      while await changes.next() {
        guard let cache else { return }
        // Most changes of other keys leave this entry as it is.
        guard changes.isNew(Self.entry(cache, key)) else { continue }
        guard changed?.advance() != nil else { return }
        do { try await Task.sleep(for: ObservedMoment.pause) } catch { return }
      }
    }
  }

  deinit { following.cancel() }

  /// `nil` if the entry is missing or unreadable.
  private static func entry(_ cache: LMDBCache, _ key: String) -> CacheEntry? {
    do throws(CacheError) { return try cache.entry(forKey: key) } catch { return nil }
  }

  /// How often the entry has changed. Reading it registers with Observation.
  package var moment: Int { changed.present }
}
