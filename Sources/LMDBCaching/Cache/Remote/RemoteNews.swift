import Platform
import Synchronization

/// What a remote tier is known to have changed, so that nothing older is stored.
///
/// A change is noted with the store's lock held, before what it makes old is removed. Whoever stores what it was given by the
/// remote tier asks here with the same lock held: so either the change is known by then, or it finds what was stored.
///
/// Of the keys of each of 1,024 groups the latest revision that was heard of is kept, which costs a read nothing; a change of
/// another key of the group may keep a value from being stored, which is fetched again then. Of keys that are being written
/// it is kept for each: what was written here is to stay.
package final class RemoteNews: Sendable {
  private struct WrittenKey: Sendable {
    /// How many write it.
    var count = 0
    var newest: UInt64 = 0
  }

  /// Revisions, and no counts.
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
      newest.words[group].max(revision, ordering: .acquiringAndReleasing)
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

  /// The write of a key is over, for which there was a watch.
  package func end(_ key: String) {
    written.withLock { written in
      let key = ByteKey(key)
      guard let found = written[key] else { return }
      if found.count == 1 { written[key] = nil } else { written[key]?.count -= 1 }
    }
  }

  /// Whether no change is known that is later than a revision, and was not before the watch began.
  fileprivate func isNewest(_ revision: UInt64, _ key: CacheKey, _ hash: UInt64, since watch: KeyWatch) -> Bool {
    guard interruptions.load(ordering: .acquiring) == watch.interruptions else { return false }
    let known = newest.word(hash: hash).pointee.load(ordering: .acquiring)
    if known <= revision || known == watch.newest { return true }
    return watch.isWritten && written.withLock { ($0[ByteKey(key.string)]?.newest ?? .max) <= revision }
  }
}

/// How things stood with a key before a remote tier was asked about it, or told.
package struct KeyWatch: Sendable {
  /// Advances with every write of the key here.
  fileprivate let version: UInt64
  /// Advances when other processes write.
  fileprivate let position: UInt64
  fileprivate let newest: UInt64
  fileprivate let interruptions: UInt64
  /// Whether it is that of a write.
  fileprivate let isWritten: Bool
}

extension LMDBCache {
  /// To be taken before a remote tier is asked for a key: see ``keep(_:revision:since:_:)``.
  package func watch(_ key: String, _ news: RemoteNews) -> KeyWatch {
    CacheKey.with(key) { news.watch($0.hash, in: store, isWritten: false) }
  }

  /// To be taken before a remote tier is told to write a key, and to be ended by ``RemoteNews/end(_:)``.
  package func watchWrite(_ key: String, _ news: RemoteNews) -> KeyWatch {
    news.begin(key)
    return CacheKey.with(key) { news.watch($0.hash, in: store, isWritten: true) }
  }

  /// Stores an entry in both tiers, unless something later is known: a change that was noted since the watch began, or an
  /// entry of a later revision.
  ///
  /// This is the one place that decides whether something of a remote tier is stored; what is loaded is decided upon by
  /// ``Load/isCurrent(at:)``. The decision and the write are one for the threads of the process. Another process's write
  /// may come between them: the changes that both of them follow remove the older one.
  ///
  /// - Parameter revision: Which change of the remote tier it is of.
  /// - Returns: Whether it is stored.
  package func keep(
    _ entry: PortableEntry, revision: UInt64, since watch: KeyWatch, _ news: RemoteNews
  ) throws(CacheError) -> Bool {
    try diskCache.checkOpen()
    return try CacheKey.with(entry.key) { (key) throws(CacheError) in
      try entry.payload.withBytes { (bytes) throws(CacheError) in
        var header = entry.header
        header.keyLength = 0
        header.tags = entry.tags?.hashes
        header.revision = revision
        let hash = key.hash
        let word = store.observers.versions.word(hash: hash)
        var (version, position) = (watch.version, watch.position)
        // Who comes too late again and again leaves it: not to store is never wrong.
        for _ in 0..<100 {
          var isChanged = false
          let outcome = try store.putAsIs(key, header: header, payload: bytes, by: memoryCache) { [store] in
            guard news.isNewest(revision, key, hash, since: watch) else { return false }
            isChanged = word.pointee.load(ordering: .acquiring) != version || store.foreignPosition != position
            return !isChanged
          }
          if !outcome.isRefused {
            try diskCache.didPut(entry.value, key, header, entry.tags, outcome, through: memoryCache)
            return true
          }
          if !isChanged { return false }
          // Something of the group was written since: what is there now may be later.
          (version, position) = (word.pointee.load(ordering: .acquiring), store.foreignPosition)
          if let found = try store.header(key)?.header {
            if found.revision > revision { return false }
          } else if try memoryCache.valueAlone(key, in: store) != nil {
            return false
          }
        }
        return false
      }
    }
  }

  /// Removes the entry under `key` unless it is of a revision or a later one; nothing older is stored that is being loaded
  /// or fetched.
  package func invalidate(_ key: String, below revision: UInt64, _ news: RemoteNews) throws(CacheError) {
    try diskCache.checkOpen()
    noteRevision(revision, forKey: key, news)
    try CacheKey.with(key) { (key) throws(CacheError) in
      let hash = key.hash
      while true {
        let version = store.observers.versions.word(hash: hash).pointee.load(ordering: .acquiring)
        if let found = try store.header(key)?.header {
          if found.revision >= revision { return }
        } else if try memoryCache.valueAlone(key, in: store) == nil {
          return
        }
        let outcome = try store.remove(key, by: memoryCache) { [store, loads = memoryCache.loads] in
          guard store.observers.versions.word(hash: hash).pointee.load(ordering: .acquiring) == version else {
            return false
          }
          // Who loads the value has been told which revisions are too old.
          loads.expectInvalidation()
          return true
        }
        if outcome.isRefused { continue }
        return try diskCache.didChange(key, outcome, through: memoryCache)
      }
    }
  }

  /// Notes that a value of a revision exists: nothing older is stored that is being loaded or fetched.
  package func noteRevision(_ revision: UInt64, forKey key: String, _ news: RemoteNews) {
    CacheKey.with(key) { bytes in
      let hash = bytes.hash
      store.journal.lock.withLock {
        memoryCache.loads.noteInvalidation(key, below: revision)
        news.note(revision, key, hash: hash)
      }
    }
  }

  /// Removes every entry whose key begins so; nothing older than a revision is stored that is being loaded or fetched.
  package func invalidateAll(
    withPrefix prefix: String, below revision: UInt64, _ news: RemoteNews
  ) throws(CacheError) {
    store.journal.lock.withLock {
      memoryCache.loads.noteInvalidation(ofAll: prefix, below: revision)
      news.noteAll(withPrefix: prefix, revision)
    }
    if prefix.isEmpty { try removeAll() } else { try removeAll(withPrefix: prefix) }
  }

  /// Nothing is stored that is being loaded or fetched now.
  package func supersedeLoads(_ news: RemoteNews) {
    store.journal.lock.withLock {
      memoryCache.loads.noteInvalidation(ofAll: "", below: .max)
      news.interrupt()
    }
  }
}
