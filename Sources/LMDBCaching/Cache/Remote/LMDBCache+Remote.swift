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

  /// Whether values may be in memory only, since the disk failed at some time. They have no revision.
  package var mayHaveUnrecorded: Bool { store.observers.haveUnrecorded.load(ordering: .acquiring) }

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

  /// When an entry expires that lives for so long, in nanoseconds since 1970.
  package func expiry(after duration: Duration) -> Int64 { store.expiry(after: duration) }

  /// The time by which entries expire, in nanoseconds since 1970.
  package var now: Int64 { store.clock.now }

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
