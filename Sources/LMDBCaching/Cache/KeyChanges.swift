/// Waits for possible changes of one entry.
package struct KeyChanges: Sendable {
  private var changes: CacheChanges.Iterator
  private let alarm: ExpiryAlarm
  private var isFirst = true
  /// The entry seen last, `.some(nil)` for a missing one, or `nil` if unknown: not seen yet, or in memory only.
  private var last: EntryVersion??
  private var isSet = false

  package init(_ cache: LMDBCache, key: String) {
    // A key has one pending change; more are removals by prefix.
    changes = cache.diskCache.changes(withPrefix: key, isOfOneKey: true, bufferingLimit: 16, trackingLimit: 1)
      .makeAsyncIterator()
    alarm = ExpiryAlarm(cache.store.clock, key: key, mailbox: changes.observation.mailbox)
  }

  /// Returns at once at the first call, then after each change; returns `false` at the end.
  package mutating func next() async -> Bool {
    if isFirst {
      isFirst = false
      return !Task.isCancelled
    }
    guard let change = await changes.next() else { return false }
    if case .set = change { isSet = true } else { isSet = false }
    return true
  }

  /// Returns `false` for the entry seen last, or if it is still missing. Call it before reading the value: a concurrent
  /// write is then seen twice, never missed.
  ///
  /// - Parameter entry: `nil` if it is missing on the disk.
  package mutating func isNew(_ entry: CacheEntry?) -> Bool {
    alarm.set(entry?.expires ?? 0)
    defer { last = entry == nil && isSet ? nil : .some(entry?.version) }
    guard let last, entry != nil || !isSet else { return true }
    return entry?.version != last
  }
}
