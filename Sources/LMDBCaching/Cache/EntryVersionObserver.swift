import Synchronization

/// Detects whether one entry has changed since it was read.
@usableFromInline
package final class EntryVersionObserver: Sendable {
  @usableFromInline
  struct Stamp: BitwiseCopyable {
    let version: UInt64
    /// The newest transaction of another process that the read has seen.
    let position: UInt64
    var expires: Int64 = .max
  }

  private let cache: LMDBCache
  private let store: DiskStore
  private let key: String
  private let versions: KeyVersions
  private let hash: UInt64
  // Sendable: points into `versions`, which is retained.
  private nonisolated(unsafe) let version: UnsafeMutablePointer<Atomic<UInt64>>

  init(_ cache: LMDBCache, key: String) {
    self.cache = cache
    self.key = key
    store = cache.store
    versions = cache.memoryCache.versions
    hash = KeyIdentity.hash(key, seed: KeyIdentity.seed)
    version = versions.word(hash: hash)
  }

  @inline(__always)
  func isCurrent(_ stamp: Stamp) -> Bool {
    stamp.version == version.pointee.load(ordering: .acquiring) && stamp.position >= store.foreignPosition
      && (stamp.expires == .max || store.clock.now < stamp.expires)
  }

  /// Returns the stamp to take before reading the entry, or `nil` if the result cannot be kept, because the cache is
  /// closed or the entry is changing.
  func observe() -> Stamp? {
    let version = version.pointee.load(ordering: .acquiring)
    if versions.isClosed || cache.memoryCache.isChanging(hash) { return nil }
    return Stamp(version: version, position: store.foreignPosition)
  }

  func stamp(_ observed: Stamp) -> Stamp {
    var stamp = observed
    stamp.expires = cache.expires(key)
    return stamp
  }
}

extension LMDBCache {
  /// In nanoseconds since 1970; `Int64.max` for an entry that never expires, is missing or cannot be read.
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
