package import Logging
import Platform
import Synchronization

// The interface for remote tiers.

extension LMDBCache {
  /// The revision of the local entry under a key, or `nil`. Does not count as an access.
  package func revision(forKey key: String) throws(CacheError) -> LocalRevision? {
    try diskCache.checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in
      guard let header = try store.header(key)?.header else { return nil }
      return LocalRevision(revision: header.revision, stamp: header.stamp)
    }
  }

  /// Whether the disk has failed, so that values may be in memory only. Those have no revision.
  package var mayHaveUnrecorded: Bool { store.observers.haveUnrecorded.load(ordering: .acquiring) }

  /// When a loaded value expires, in nanoseconds since 1970; 0 for never.
  package func expiry(of context: LoadContext, _ options: LoadOptions?) -> Int64 {
    let options = options ?? diskCache.configuration.loadOptions
    return context.lifetime.map { store.expiry(after: options.shortened($0)) } ?? 0
  }

  /// A stamp above those of all earlier writes and below those of all later ones.
  package var presentStamp: UInt64 {
    store.journal.lock.withLock {
      max(store.journal.state.stamps.last, store.journal.state.stamps.present(store.clock))
    }
  }

  package func expiry(after duration: Duration) -> Int64 { store.expiry(after: duration) }

  /// The time that decides expiry, in nanoseconds since 1970.
  package var now: Int64 { store.clock.now }

  package var path: String { store.directory }

  package var logger: Logger { diskCache.configuration.logger }

  package func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
    diskCache.events.log(level, message, metadata.merging(["directory": "\(store.directory)"]) { own, _ in own })
  }
}

/// The change of a remote tier that a local entry belongs to, and the write that stored it.
package struct LocalRevision: Sendable {
  /// 0 for an entry that belongs to none.
  package let revision: UInt64
  package let stamp: UInt64
}

extension CacheEntry {
  package var stamp: UInt64 { version.stamp }
}
