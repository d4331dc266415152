/// The moments from which on the entry under one key may be another one.
package struct KeyChanges: Sendable {
  private var changes: CacheChanges.Iterator
  private let alarm: ExpiryAlarm
  private var isFirst = true
  /// The entry that was seen last, none (`.some(nil)`), or not known: nothing was seen yet, or a value in memory only.
  private var last: EntryVersion??
  /// Whether the latest change says that something was stored.
  private var isSet = false

  package init(_ cache: LMDBCache, key: String) {
    // A key has one change that waits; more are removals by prefix.
    changes = cache.diskCache.changes(withPrefix: key, isOfOneKey: true, bufferingLimit: 16, trackingLimit: 1)
      .makeAsyncIterator()
    alarm = ExpiryAlarm(cache.store.clock, key: key, mailbox: changes.observation.mailbox)
  }

  /// Returns at once when it is called first, and then when something has happened to the entry since; `false` when
  /// nothing more will.
  package mutating func next() async -> Bool {
    if isFirst {
      isFirst = false
      return !Task.isCancelled
    }
    guard let change = await changes.next() else { return false }
    if case .set = change { isSet = true } else { isSet = false }
    return true
  }

  /// Returns `false` for the entry that was seen last, also if that was none. To be called before its value is read: one
  /// that is written in between is then seen twice, and not missed.
  ///
  /// - Parameter entry: `nil` if there is none on the disk.
  package mutating func isNew(_ entry: CacheEntry?) -> Bool {
    alarm.set(entry?.expires ?? 0)
    defer { last = entry == nil && isSet ? nil : .some(entry?.version) }
    guard let last, entry != nil || !isSet else { return true }
    return entry?.version != last
  }
}
