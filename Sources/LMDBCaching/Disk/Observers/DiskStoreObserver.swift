/// A memory tier over a disk store: told of every mutation, in its order.
///
/// The first group is called with the store's lock held and must neither block nor release values; the second
/// after it.
protocol DiskStoreObserver: AnyObject, Sendable {
  /// From now on nothing read before `stamp` may enter the tier under keys of this hash.
  ///
  /// - Parameter isReadable: Readers of the disk see the change as soon as the lock is released: what the tier has under
  ///   `key` may not be served any more, or a reader would go back to it.
  func willChange(_ key: String, hash: UInt64, stamp: UInt64, isReadable: Bool)
  /// A write of the key is about to be committed, and can be read at a moment that is not known: until
  /// ``endChange(_:hash:)`` nothing that is read under it may enter the tier. There is one such write at a time.
  func beginChange(_ key: String, hash: UInt64, stamp: UInt64)
  func endChange(_ key: String, hash: UInt64)
  /// As ``willChange(_:hash:stamp:isReadable:)``, for the keys of a removal of many.
  func willRemove(_ scope: HiddenKeys.Scope, stamp: UInt64)

  /// The key was written or removed with this stamp, by somebody else than this observer.
  func didChange(_ key: String, hash: UInt64, stamp: UInt64)
  /// Every key that starts with `prefix` was removed with this stamp; the empty prefix: every key.
  func didRemoveAll(withPrefix prefix: String, stamp: UInt64)

  /// Seconds since 1970 of the last access that the tier knows of.
  func lastAccess(of key: String) -> UInt32?
  /// The entry that `stamp` wrote was removed from the disk to keep a limit, or since it had expired.
  ///
  /// - Parameter moment: A stamp that was taken since: nothing read before may enter the tier under keys of this hash.
  func didEvict(_ key: String, stamp: UInt64, moment: UInt64)
  /// The same of every entry, up to the one that `stamp` wrote.
  func didEvictAll(stamp: UInt64, moment: UInt64)
  /// What is read without the tier noticing is to be read through it once more, so that ``lastAccess(of:)`` knows.
  func recordReads()
  /// From its return on nothing may be read from the store's files.
  func storeWillClose()
  /// Entries that it holds, and the sum of their costs.
  var size: (count: Int, cost: Int) { get }
  /// Adds what the tier counted.
  func add(to statistics: inout CacheStatistics)
}
