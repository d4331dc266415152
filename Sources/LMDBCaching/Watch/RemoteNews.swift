import Platform
import Synchronization

/// The known changes of a remote tier, which keep older values from being stored.
///
/// A change is noted with the store's lock held, before the outdated entries are removed. A write of a value from the
/// remote tier checks here with the same lock held: either the change is known by then, or it finds the stored value.
///
/// Keys are hashed to 1,024 groups, each with its latest known revision, so reads cost nothing. A change of another key
/// of the group may keep a value from being stored; it is fetched again then. Keys being written are tracked one by
/// one, because values written here must stay.
package final class RemoteNews: Sendable {
  private struct WrittenKey: Sendable {
    var count = 0
    var newest: UInt64 = 0
  }

  /// Holds revisions instead of counts.
  private let newest = KeyVersions()
  private let interruptions = Atomic<UInt64>(0)
  private let written = Mutex<[ByteKey: WrittenKey]>([:])

  package init() {}

  fileprivate func note(_ revision: UInt64, _ key: String, hash: UInt64) {
    newest.word(hash: hash).pointee.max(revision, ordering: .acquiringAndReleasing)
    written.withLock { written in
      if written.isEmpty { return }
      let key = ByteKey(key)
      guard let found = written[key], found.newest < revision else { return }
      written[key]?.newest = revision
    }
  }

  fileprivate func noteAll(withPrefix prefix: String, _ revision: UInt64) {
    for group in 0..<(1 << KeyVersions.groupBits) {
      newest.words[group].pointee.max(revision, ordering: .acquiringAndReleasing)
    }
    written.withLock { written in
      for (key, found) in written where found.newest < revision && key.string.utf8.starts(with: prefix.utf8) {
        written[key]?.newest = revision
      }
    }
  }

  fileprivate func interrupt() { interruptions.add(1, ordering: .acquiringAndReleasing) }

  fileprivate func watch(_ hash: UInt64, in store: DiskStore, isWritten: Bool) -> KeyWatch {
    KeyWatch(
      version: store.observers.versions.word(hash: hash).pointee.load(ordering: .acquiring),
      position: store.foreignPosition,
      newest: newest.word(hash: hash).pointee.load(ordering: .acquiring),
      interruptions: interruptions.load(ordering: .acquiring), isWritten: isWritten)
  }

  fileprivate func begin(_ key: String) { written.withLock { $0[ByteKey(key), default: WrittenKey()].count += 1 } }

  /// Ends a watch of ``LMDBCache/watchWrite(_:_:)``.
  package func end(_ key: String) {
    written.withLock { written in
      let key = ByteKey(key)
      guard let found = written[key] else { return }
      if found.count == 1 { written[key] = nil } else { written[key]?.count -= 1 }
    }
  }

  /// Whether no later change than `revision` has become known since the watch began.
  fileprivate func isNewest(_ revision: UInt64, _ key: CacheKey, _ hash: UInt64, since watch: KeyWatch) -> Bool {
    guard interruptions.load(ordering: .acquiring) == watch.interruptions else { return false }
    let known = newest.word(hash: hash).pointee.load(ordering: .acquiring)
    if known <= revision || known == watch.newest { return true }
    return watch.isWritten && written.withLock { ($0[ByteKey(key.string)]?.newest ?? .max) <= revision }
  }
}

/// The state of a key before a remote tier is asked about it or notified.
package struct KeyWatch: Sendable {
  /// Advances with every write of the key here.
  fileprivate let version: UInt64
  fileprivate let position: UInt64
  fileprivate let newest: UInt64
  fileprivate let interruptions: UInt64
  fileprivate let isWritten: Bool
}

extension LMDBCache {
  /// Begins a watch. Call it before fetching from a remote tier, and pass it to ``keep(_:revision:since:_:)``.
  package func watch(_ key: String, _ news: RemoteNews) -> KeyWatch {
    CacheKey.with(key) { news.watch($0.hash, in: store, isWritten: false) }
  }

  /// Begins the watch of a write. Call it before writing to a remote tier, and end it with ``RemoteNews/end(_:)``.
  package func watchWrite(_ key: String, _ news: RemoteNews) -> KeyWatch {
    news.begin(key)
    return CacheKey.with(key) { news.watch($0.hash, in: store, isWritten: true) }
  }

  /// Stores an entry in both tiers, unless a later change has become known since the watch began, or a later entry
  /// exists.
  ///
  /// Only this function decides whether a value from a remote tier is stored; ``Load/isCurrent(at:_:)`` decides for
  /// loaded values. Decision and write are atomic for the threads of the process. Another process may write in between:
  /// the changes that both of them follow remove the older entry.
  ///
  /// - Returns: Whether it is stored.
  package func keep(
    _ entry: PortableEntry, revision: UInt64, since watch: KeyWatch, _ news: RemoteNews
  ) throws(CacheError) -> Bool {
    try checkOpen()
    return try CacheKey.with(entry.key) { (key) throws(CacheError) in
      try entry.payload.withBytes { (bytes) throws(CacheError) in
        var header = entry.header
        header.keyLength = 0
        header.tags = entry.tags?.hashes
        header.revision = revision
        let hash = key.hash
        let word = store.observers.versions.word(hash: hash)
        var (version, position) = (watch.version, watch.position)
        // After 100 lost races give up: not storing is never wrong.
        for _ in 0..<100 {
          var isChanged = false
          let outcome = try store.putAsIs(key, header: header, payload: bytes, by: tier) { [store] in
            guard news.isNewest(revision, key, hash, since: watch) else { return false }
            isChanged = word.pointee.load(ordering: .acquiring) != version || store.foreignPosition != position
            return !isChanged
          }
          if !outcome.isRefused {
            try didPut(entry.value, key, header, entry.tags, outcome)
            return true
          }
          if !isChanged { return false }
          // The group has been written since, so the entry may be newer.
          (version, position) = (word.pointee.load(ordering: .acquiring), store.foreignPosition)
          if let found = try store.header(key)?.header {
            if found.revision > revision { return false }
          }
        }
        return false
      }
    }
  }

  /// Removes the entry under `key` if it is older than a revision, and keeps running loads and fetches from storing
  /// older values.
  package func invalidate(_ key: String, below revision: UInt64, _ news: RemoteNews) throws(CacheError) {
    try checkOpen()
    noteRevision(revision, forKey: key, news)
    try CacheKey.with(key) { (key) throws(CacheError) in
      let hash = key.hash
      while true {
        let version = store.observers.versions.word(hash: hash).pointee.load(ordering: .acquiring)
        guard let found = try store.header(key)?.header, found.revision < revision else { return }
        let outcome = try store.remove(key, by: tier) { [store, loads = memory.loads] in
          guard store.observers.versions.word(hash: hash).pointee.load(ordering: .acquiring) == version else {
            return false
          }
          // The loads of the key know the outdated revisions.
          loads.expectInvalidation()
          return true
        }
        if outcome.isRefused { continue }
        return try didChange(key, outcome)
      }
    }
  }

  /// Keeps running loads and fetches from storing a value older than a revision.
  package func noteRevision(_ revision: UInt64, forKey key: String, _ news: RemoteNews) {
    CacheKey.with(key) { bytes in
      let hash = bytes.hash
      store.journal.lock.withLock {
        memory.loads.noteInvalidation(key, below: revision)
        news.note(revision, key, hash: hash)
      }
    }
  }

  /// Removes every entry with the prefix, and keeps running loads and fetches from storing values older than a
  /// revision.
  package func invalidateAll(withPrefix prefix: String, below revision: UInt64, _ news: RemoteNews) throws(CacheError) {
    store.journal.lock.withLock {
      memory.loads.noteInvalidation(ofAll: prefix, below: revision)
      news.noteAll(withPrefix: prefix, revision)
    }
    if prefix.isEmpty { try removeAll() } else { try removeAll(.prefix(prefix)) }
  }

  /// Keeps all running loads and fetches from storing their values.
  package func supersedeLoads(_ news: RemoteNews) {
    store.journal.lock.withLock {
      memory.loads.noteInvalidation(ofAll: "", below: .max)
      news.interrupt()
    }
  }
}
