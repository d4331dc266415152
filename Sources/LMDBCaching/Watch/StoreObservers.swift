import Platform
import Synchronization

/// A memory tier over a disk store, notified of every change in order.
///
/// The first group is called with the store's lock held, and must neither block nor release values.
protocol DiskStoreObserver: AnyObject, Sendable {
  /// From now on nothing read before `stamp` may enter the tier under keys of this hash, and the older value must not be
  /// served: disk readers see the change once the lock is released.
  func willChange(_ key: String, hash: UInt64, stamp: UInt64)
  /// A write is about to be committed, readable at an unknown moment. Until ``endChange(_:hash:)`` nothing read under
  /// the key may enter the tier. There is one such write at a time.
  func beginChange(_ key: String, hash: UInt64, stamp: UInt64)
  func endChange(_ key: String, hash: UInt64)
  /// Like ``willChange(_:hash:stamp:)``, for a removal of many keys.
  func willRemove(_ scope: KeyScope, stamp: UInt64)

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

/// The memory tiers over a store. Announcements hold the journal's lock, and so are in write order.
// Sendable: `announced`, `changing` and `former` are only accessed with the lock held.
final class StoreObservers: @unchecked Sendable {
  private let lock: ConditionLock
  /// With the lock held.
  private(set) var announced: [any DiskStoreObserver] = []
  /// The hash of the key that a transaction is about to change. With the lock held.
  private(set) var changing: UInt64?
  /// The counts of removed observers. With the lock held.
  private var former = CacheStatistics()
  /// The number of observers; in the common case, only the writer itself.
  let count = Atomic<Int>(0)
  /// Advance with every announced write, before it can be read.
  let versions = KeyVersions()
  let conditional: ConditionalWrites

  init(_ lock: ConditionLock, lockTimeout: Duration) {
    self.lock = lock
    conditional = ConditionalWrites(lock, lockTimeout: lockTimeout)
  }

  var all: [any DiskStoreObserver] { lock.withLock { announced } }

  func add(_ observer: any DiskStoreObserver) {
    lock.withLock {
      announced.append(observer)
      count.store(announced.count, ordering: .releasing)
    }
  }

  func remove(_ observer: any DiskStoreObserver) {
    lock.withLock {
      guard let index = announced.firstIndex(where: { $0 === observer }) else { return }
      announced.remove(at: index)
      observer.add(to: &former)
      count.store(announced.count, ordering: .releasing)
    }
  }

  /// The counts of all memory tiers since the store was opened, including removed ones.
  var statistics: CacheStatistics {
    lock.withLock {
      var statistics = former
      for observer in announced { observer.add(to: &statistics) }
      return statistics
    }
  }

  var size: (count: Int, cost: Int) {
    lock.withLock {
      announced.reduce((count: 0, cost: 0)) { sum, observer in
        let size = observer.size
        return (sum.count.addingClamped(size.count), sum.cost.addingClamped(size.cost))
      }
    }
  }

  func removeAll() -> [any DiskStoreObserver] {
    lock.withLock {
      defer {
        announced = []
        count.store(0, ordering: .releasing)
      }
      return announced
    }
  }

  /// Announces a write before it becomes visible. With the lock held.
  @inline(__always)
  func announce(_ key: String, _ hash: UInt64, _ stamp: UInt64) {
    versions.advance(hash: hash)
    conditional.note(hash)
    for observer in announced { observer.willChange(key, hash: hash, stamp: stamp) }
  }

  /// Announces a removal of many keys. With the lock held.
  func announceAll(_ scope: KeyScope, _ stamp: UInt64) {
    versions.advanceAll()
    conditional.note(scope)
    for observer in announced { observer.willRemove(scope, stamp: stamp) }
  }

  /// Announces the commit of a write in no journal: until ``endChange(_:_:)`` nothing read under the key may be kept.
  /// With the lock held.
  func beginChange(_ key: String, _ hash: UInt64, _ stamp: UInt64) {
    changing = hash
    for observer in announced { observer.beginChange(key, hash: hash, stamp: stamp) }
    announce(key, hash, stamp)
  }

  /// The write was committed, or will not be. With the lock held.
  func endChange(_ key: String, _ hash: UInt64) {
    changing = nil
    versions.advance(hash: hash)
    for observer in announced { observer.endChange(key, hash: hash) }
  }
}
