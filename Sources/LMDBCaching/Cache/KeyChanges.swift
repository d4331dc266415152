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
  /// Whether it is told so once more, and nothing else. (Something else may have been told before it: of the changes of a key
  /// that wait, the last one stays.)
  private var isRepeated = false

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
      case .missed, .removedAll:
        isRepeated = false
        return true
      case .expired(let key):
        guard ByteKey(key) == self.key else { continue }
        (isRepeated, hasExpired) = (hasExpired, true)
        return true
      case .set(let key), .removed(let key), .evicted(let key):
        guard ByteKey(key) == self.key else { continue }
        isRepeated = false
        return true
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
    defer { last = entry?.version }
    guard let entry else { return !isRepeated }
    hasExpired = false
    return entry.version != last
  }
}
