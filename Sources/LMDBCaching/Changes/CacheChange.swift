/// A change of a cache, reported by ``CacheChanges``.
///
/// A change does not carry the value: read the entry. Several pending changes of a key become one, the last.
public enum CacheChange: Sendable, Equatable {
  /// A value was stored under the key, new or replacing another.
  case set(key: String)
  /// The entry under the key was removed, or was missing when it was removed. Includes evictions and expirations by
  /// other processes.
  case removed(key: String)
  /// The entry was removed by this process to keep a limit of the disk tier.
  case evicted(key: String)
  /// The entry had expired, and was removed by this process. It was hidden since its expiry; the removal comes with the
  /// next trim, within ``DiskCache/autoTrimInterval``.
  case expired(key: String)
  /// Every entry whose key starts with the prefix was removed; the empty prefix means every entry.
  case removedAll(prefix: String)
  /// Changes were dropped: reread all entries that you observe.
  case missed

  /// The key, or `nil` for ``removedAll(prefix:)`` and ``missed``.
  public var key: String? {
    switch self {
    case .set(let key), .removed(let key), .evicted(let key), .expired(let key): key
    case .removedAll, .missed: nil
    }
  }
}
