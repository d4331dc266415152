/// The moments from which on the entry under one key may be another one.
package struct KeyChanges: Sendable {
  private let key: ByteKey
  private var changes: CacheChanges.Iterator
  private let alarm: ExpiryAlarm
  private var isFirst = true
  /// The entry that was seen last.
  private var last: EntryVersion?
  /// Whether it was told that the entry has expired. It is told by the alarm, and again when the entry is removed.
  private var hasExpired = false

  package init(_ cache: LMDBCache, key: String) {
    self.key = ByteKey(key)
    // More than a few would be changes of other keys that start with this one.
    changes = cache.changes(withPrefix: key, bufferingLimit: 16).makeAsyncIterator()
    alarm = ExpiryAlarm(cache.store.clock, key: key, mailbox: changes.observation.mailbox)
  }

  /// Returns at once when it is called first, and then when something has happened to the entry since; `false` when
  /// nothing more will.
  package mutating func next() async -> Bool {
    if isFirst {
      isFirst = false
      return !Task.isCancelled
    }
    while let change = await changes.next() {
      switch change {
      case .missed, .removedAll: return true
      case .expired(let key):
        guard ByteKey(key) == self.key, !hasExpired else { continue }
        hasExpired = true
        return true
      case .set(let key), .removed(let key), .evicted(let key):
        if ByteKey(key) == self.key { return true }
      }
    }
    return false
  }

  /// Returns `false` for the entry that was seen last. To be called before its value is read: one that is written in
  /// between is then seen twice, and not missed.
  ///
  /// - Parameter entry: `nil` if there is none on the disk.
  package mutating func isNew(_ entry: CacheEntry?) -> Bool {
    alarm.set(entry?.expires ?? 0)
    if entry != nil { hasExpired = false }
    defer { last = entry?.version }
    return entry == nil || entry?.version != last
  }
}
