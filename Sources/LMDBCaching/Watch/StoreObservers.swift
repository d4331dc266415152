import Platform
import Synchronization

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

/// The memory tiers over a store. Announcements hold the journal's lock, and so are in write order.
// Sendable: `announced`, `changing` and `unplaced` are only accessed with the lock held.
final class StoreObservers: @unchecked Sendable {
  /// A write that could not be recorded, before its memory tier has replaced the older value.
  private struct UnplacedWrite {
    let key: String
    let stamp: UInt64
    /// Whether no later write was announced under the key.
    var isNewest = true
  }

  private let lock: ConditionLock
  /// With the lock held.
  private(set) var announced: [any DiskStoreObserver] = []
  /// The hash of the key that a transaction is about to change. With the lock held.
  private(set) var changing: UInt64?
  /// The counts of removed observers. With the lock held.
  private var former = CacheStatistics()
  /// With the lock held.
  private var unplaced: [UnplacedWrite] = []
  /// Whether any write could not be recorded so far.
  let haveUnrecorded = Atomic<Bool>(false)
  /// Removals of many keys that memory tiers have not applied yet. With the lock held.
  private var removals: [HiddenKeys.Prefix] = []
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
  func announce(_ key: String, _ hash: UInt64, _ stamp: UInt64, isReadable: Bool = true) {
    versions.advance(hash: hash)
    conditional.note(hash)
    if !unplaced.isEmpty { noteNewer { KeyIdentity.same($0, key) } }
    for observer in announced { observer.willChange(key, hash: hash, stamp: stamp, isReadable: isReadable) }
  }

  /// Announces a write in no journal: until it is placed, readers find the older value.
  func announceUnrecorded(_ key: String, _ hash: UInt64, _ stamp: UInt64) {
    announce(key, hash, stamp, isReadable: false)
    unplaced.append(UnplacedWrite(key: key, stamp: stamp))
    haveUnrecorded.store(true, ordering: .releasing)
  }

  @inline(never)
  private func noteNewer(_ isAbout: (String) -> Bool) {
    for index in unplaced.indices where isAbout(unplaced[index].key) { unplaced[index].isNewest = false }
  }

  /// Whether an unrecorded write is not in its memory tier yet. With the lock held.
  var isPlacing: Bool { !unplaced.isEmpty }

  /// Takes the lock until ``endPlacing()``, for a memory tier to apply its unrecorded write.
  ///
  /// - Returns: Whether the write is still the newest under its key.
  func beginPlacing(_ stamp: UInt64) -> Bool {
    lock.lock()
    guard let index = unplaced.firstIndex(where: { $0.stamp == stamp }) else { return false }
    return unplaced.remove(at: index).isNewest
  }

  /// Releases the lock.
  func endPlacing() {
    if unplaced.isEmpty { lock.signalAll(.progress) }
    lock.unlock()
  }

  /// Announces a removal of many keys, until ``endRemovals(_:)``. With the lock held.
  func announceAll(_ scope: HiddenKeys.Scope, _ stamp: UInt64) {
    versions.advanceAll()
    conditional.note(scope)
    if !unplaced.isEmpty { noteNewer(scope.includes) }
    switch scope {
    case .prefix(let prefix): removals.append(HiddenKeys.Prefix(bytes: Array(prefix), stamp: stamp))
    case .everything: removals.append(HiddenKeys.Prefix(bytes: [], stamp: stamp))
    case .key, .tag: break
    }
    for observer in announced { observer.willRemove(scope, stamp: stamp) }
  }

  /// Call after the memory tiers have applied the removals with these stamps.
  func endRemovals(_ stamps: ClosedRange<UInt64>) {
    lock.withLock { removals.removeAll { stamps.contains($0.stamp) } }
  }

  /// Whether a removed entry may still be in a memory tier.
  func isBeingRemoved(_ key: String, writtenAt stamp: UInt64) -> Bool {
    lock.withLock { removals.contains { $0.stamp > stamp && key.utf8.starts(with: $0.bytes) } }
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
