/// A memory tier over a disk store, notified of every change in order.
///
/// The first group is called with the store's lock held, and must neither block nor release values.
protocol DiskStoreObserver: AnyObject, Sendable {
  /// From now on nothing read before `stamp` may enter the tier under keys of this hash.
  ///
  /// - Parameter isReadable: Disk readers see the change once the lock is released; do not serve the older value.
  func willChange(_ key: String, hash: UInt64, stamp: UInt64, isReadable: Bool)
  /// A write is about to be committed, readable at an unknown moment. Until ``endChange(_:hash:)`` nothing read under
  /// the key may enter the tier. There is one such write at a time.
  func beginChange(_ key: String, hash: UInt64, stamp: UInt64)
  func endChange(_ key: String, hash: UInt64)
  /// Like ``willChange(_:hash:stamp:isReadable:)``, for a removal of many keys.
  func willRemove(_ scope: HiddenKeys.Scope, stamp: UInt64)

  /// Another writer than this observer wrote or removed the key.
  func didChange(_ key: String, hash: UInt64, stamp: UInt64)
  /// Every key that starts with `prefix` was removed; an empty prefix means every key.
  func didRemoveAll(withPrefix prefix: String, stamp: UInt64)

  /// The tier's last access to a key, in seconds since 1970.
  func lastAccess(of key: String) -> UInt32?
  /// The entry that `stamp` wrote was removed from disk, to keep a limit or because it expired.
  ///
  /// - Parameter moment: A later stamp. Nothing read before it may enter the tier under keys of this hash.
  func didEvict(_ key: String, stamp: UInt64, moment: UInt64)
  /// Like ``didEvict(_:stamp:moment:)``, for every entry written up to `stamp`.
  func didEvictAll(stamp: UInt64, moment: UInt64)
  /// Routes the next read of each key through the tier, so that ``lastAccess(of:)`` knows of it.
  func recordReads()
  /// After this returns, nothing may be read from the store's files.
  func storeWillClose()
  var size: (count: Int, cost: Int) { get }
  func add(to statistics: inout CacheStatistics)
}
