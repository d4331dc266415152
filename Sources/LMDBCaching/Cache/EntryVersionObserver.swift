import Synchronization

/// Tells whether one entry of a cache has changed since it was read.
@usableFromInline
package final class EntryVersionObserver: Sendable {
  /// The moment as of which something was read from the entry.
  @usableFromInline
  struct Stamp: BitwiseCopyable {
    let version: UInt64
    /// The newest transaction of another process that the reading has seen.
    let position: UInt64
    /// Wall-clock nanoseconds since 1970.
    var expires: Int64 = .max
  }

  private let cache: LMDBCache
  private let store: DiskStore
  private let key: String
  private let versions: KeyVersions
  private let hash: UInt64
  // Sendable: it points into `versions`, which is kept.
  private nonisolated(unsafe) let version: UnsafeMutablePointer<Atomic<UInt64>>

  init(_ cache: LMDBCache, key: String) {
    self.cache = cache
    self.key = key
    store = cache.store
    versions = cache.memoryCache.versions
    hash = KeyIdentity.hash(key, seed: KeyIdentity.seed)
    version = versions.word(hash: hash)
  }

  /// Whether nothing has happened to the entry since.
  @inline(__always)
  func isCurrent(_ stamp: Stamp) -> Bool {
    stamp.version == version.pointee.load(ordering: .acquiring) && stamp.position >= store.foreignPosition
      && (stamp.expires == .max || store.clock.now < stamp.expires)
  }

  /// Returns the stamp to take before the entry is read, or `nil` if what is read cannot be kept: the cache is closed, or
  /// the entry is just changing.
  func observe() -> Stamp? {
    let version = version.pointee.load(ordering: .acquiring)
    if versions.isClosed || cache.memoryCache.isChanging(hash) { return nil }
    return Stamp(version: version, position: store.foreignPosition)
  }

  /// What was observed, with the time at which the entry that was read then expires.
  func stamp(_ observed: Stamp) -> Stamp {
    var stamp = observed
    stamp.expires = cache.expires(key)
    return stamp
  }
}

extension LMDBCache {
  /// When the entry expires, in nanoseconds since 1970; `Int64.max` if it never does, is not there or cannot be read.
  fileprivate func expires(_ key: String) -> Int64 {
    CacheKey.with(key) { key in
      if let expires = memoryCache.expires(key) { return expires }
      do throws(CacheError) {
        try diskCache.checkOpen()
        let expires = try store.header(key)?.header.expires ?? 0
        return expires == 0 ? .max : expires
      } catch {
        return .max
      }
    }
  }
}
