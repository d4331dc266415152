package import Logging
import Platform
import Synchronization

// What a remote tier needs of the local ones.

extension LMDBCache {
  /// What is known of the local entry under a key; `nil` if there is none. Not an access.
  package func revision(forKey key: String) throws(CacheError) -> LocalRevision? {
    try diskCache.checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in
      guard let header = try store.header(key)?.header else { return nil }
      return LocalRevision(revision: header.revision, stamp: header.stamp)
    }
  }

  /// Removes the entry under `key` unless it is of a revision or a later one; what is loaded meanwhile is not stored
  /// unless it is, either.
  package func invalidate(_ key: String, below revision: UInt64) throws(CacheError) {
    try diskCache.checkOpen()
    // First: what a load stores after this is of the revision, and what it stored before is found.
    store.journal.lock.withLock { memoryCache.loads.noteInvalidation(key, below: revision) }
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
          // Who fetches or loads the value has been told which revisions are too old.
          loads.expectInvalidation()
          return true
        }
        if outcome.isRefused { continue }
        return try diskCache.didChange(key, outcome, through: memoryCache)
      }
    }
  }

  /// Notes that a value of a revision exists: nothing older that is being loaded or fetched is stored.
  package func noteRevision(_ revision: UInt64, forKey key: String) {
    store.journal.lock.withLock { memoryCache.loads.noteInvalidation(key, below: revision) }
  }

  /// Removes every entry whose key begins so; nothing older than a revision that is being loaded or fetched is stored.
  package func invalidateAll(withPrefix prefix: String, below revision: UInt64) throws(CacheError) {
    store.journal.lock.withLock { memoryCache.loads.noteInvalidation(ofAll: prefix, below: revision) }
    if prefix.isEmpty { try removeAll() } else { try removeAll(withPrefix: prefix) }
  }

  /// Nothing that is being loaded or fetched now is stored.
  package func supersedeLoads() {
    store.journal.lock.withLock { memoryCache.loads.noteInvalidation(ofAll: "", below: .max) }
  }

  /// How values are loaded where a read says nothing else.
  package var loadOptions: LoadOptions { diskCache.configuration.loadOptions }

  /// What `load` returns, if it does so within the limit; it goes on in any case. On another thread then, with the caller's
  /// task-local values.
  package func waiting<R: Sendable>(
    _ limit: Duration?, for key: String, _ load: @escaping @Sendable () throws -> R
  ) throws -> R {
    try LoadQueue.wait(limit, key, load)
  }

  /// The same for tasks.
  package func waiting<R: Sendable>(
    _ limit: Duration?, for key: String, _ load: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    try await LoadQueue.wait(limit, key, load)
  }

  /// When what was loaded expires; nanoseconds since 1970, or 0: never.
  package func expiry(of context: LoadContext, _ options: LoadOptions?) -> Int64 {
    let options = options ?? diskCache.configuration.loadOptions
    return context.lifetime.map { store.expiry(after: options.shortened($0)) } ?? 0
  }

  /// A stamp that is greater than those of all writes so far, and less than those of all later ones.
  package var presentStamp: UInt64 {
    store.journal.lock.withLock {
      max(store.journal.state.stamps.last, store.journal.state.stamps.present(store.clock))
    }
  }

  /// Nanoseconds since 1970.
  package var wallClock: Int64 { store.clock.now }

  /// When an entry expires that lives for so long, in nanoseconds since 1970.
  package func expiry(after duration: Duration) -> Int64 { store.expiry(after: duration) }

  /// Where the cache is.
  package var path: String { store.directory }

  /// Of the cache's configuration.
  package var logger: Logger { diskCache.configuration.logger }

  /// Tells an event to the log, on the cache's queue for it.
  package func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
    diskCache.events.log(level, message, metadata.merging(["directory": "\(store.directory)"]) { own, _ in own })
  }
}

/// Which change of a remote tier a local entry is of, and which write made it.
package struct LocalRevision: Sendable {
  /// 0: of none.
  package let revision: UInt64
  package let stamp: UInt64
}

extension CacheEntry {
  package var stamp: UInt64 { version.stamp }
}
