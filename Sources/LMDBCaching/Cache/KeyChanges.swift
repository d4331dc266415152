/// The moments from which on the entry under one key may be another one.
package struct KeyChanges: Sendable {
  private let key: ByteKey
  private var changes: CacheChanges.Iterator
  private var isFirst = true
  /// The entry that was seen last.
  private var last: EntryVersion?

  package init(_ cache: LMDBCache, key: String) {
    self.key = ByteKey(key)
    // More than a few would be changes of other keys that start with this one.
    changes = cache.changes(withPrefix: key, bufferingLimit: 16).makeAsyncIterator()
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
      case .set(let key), .removed(let key), .evicted(let key), .expired(let key):
        if ByteKey(key) == self.key { return true }
      }
    }
    return false
  }

  /// Returns `false` for the entry that was seen last. To be called before its value is read: one that is written in
  /// between is then seen twice, and not missed.
  ///
  /// - Parameter version: `nil` if there is no entry on the disk.
  package mutating func isNew(_ version: EntryVersion?) -> Bool {
    defer { last = version }
    return version == nil || version != last
  }
}
