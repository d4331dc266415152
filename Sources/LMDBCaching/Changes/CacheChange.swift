/// What happened to a cache, as ``CacheChanges`` tells it.
///
/// A change says that something happened, not what was stored: read the entry to know. What happened to one key while
/// nobody looked is one change, the last.
public enum CacheChange: Sendable, Equatable {
  /// A value was stored under the key, new or in place of another.
  case set(key: String)
  /// The entry under the key was removed, or there was none when it was to be removed. Also what another process
  /// removed to keep a limit, or since it had expired.
  case removed(key: String)
  /// The entry was removed by this process to keep a limit of the disk tier.
  case evicted(key: String)
  /// The entry had expired, and was removed by this process. It was not served any more from its expiry on; the removal
  /// comes with the next trim, ``DiskCache/autoTrimInterval`` later at the latest.
  case expired(key: String)
  /// Every entry whose key starts with the prefix was removed; the empty prefix: every entry.
  case removedAll(prefix: String)
  /// More happened than was kept: read again whatever you have of the entries under the prefix that you observe.
  case missed

  /// The key, or `nil` for ``removedAll(prefix:)`` and ``missed``.
  public var key: String? {
    switch self {
    case .set(let key), .removed(let key), .evicted(let key), .expired(let key): key
    case .removedAll, .missed: nil
    }
  }
}
