import Platform
import Synchronization

/// The memory tiers over a store.
///
/// Announcements are made with the journal's lock held, so that they are in the order of the writes.
// Sendable: `announced`, `changing` and `unplaced` are touched with the lock held only.
final class StoreObservers: @unchecked Sendable {
  /// A write that could not be recorded, on its way to the memory tier that is to have it, and still has what was there
  /// before.
  private struct UnplacedWrite {
    let key: String
    let stamp: UInt64
    /// Whether nothing was announced under the key since.
    var isNewest = true
  }

  private let lock: ConditionLock
  /// With the lock held.
  private(set) var announced: [any DiskStoreObserver] = []
  /// The hash of the key that a transaction is about to change. With the lock held.
  private(set) var changing: UInt64?
  /// What those that were removed had counted. With the lock held.
  private var former = CacheStatistics()
  /// With the lock held.
  private var unplaced: [UnplacedWrite] = []
  /// Whether there has been a write that could not be recorded.
  let haveUnrecorded = Atomic<Bool>(false)
  /// Removals of many keys that memory tiers have not followed yet. With the lock held.
  private var removals: [HiddenKeys.Prefix] = []
  /// How many there are: the common case is one, the writer itself.
  let count = Atomic<Int>(0)
  /// Advance with every write that is announced, before it can be read.
  let versions = KeyVersions()
  /// Told of every change that is announced.
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

  /// What memory tiers have counted since the store was opened, those included that are gone.
  var statistics: CacheStatistics {
    lock.withLock {
      var statistics = former
      for observer in announced { observer.add(to: &statistics) }
      return statistics
    }
  }

  /// Entries that memory tiers hold, and the sum of their costs.
  var size: (count: Int, cost: Int) {
    lock.withLock {
      announced.reduce((count: 0, cost: 0)) { sum, observer in
        let size = observer.size
        return (sum.count.addingClamped(size.count), sum.cost.addingClamped(size.cost))
      }
    }
  }

  /// Returns those that there were.
  func removeAll() -> [any DiskStoreObserver] {
    lock.withLock {
      defer {
        announced = []
        count.store(0, ordering: .releasing)
      }
      return announced
    }
  }

  /// A write is about to be seen. With the lock held.
  @inline(__always)
  func announce(_ key: String, _ hash: UInt64, _ stamp: UInt64, isReadable: Bool = true) {
    versions.advance(hash: hash)
    conditional.note(hash)
    if !unplaced.isEmpty { noteNewer { KeyIdentity.same($0, key) } }
    for observer in announced { observer.willChange(key, hash: hash, stamp: stamp, isReadable: isReadable) }
  }

  /// The same of a write that is in no journal: until it is placed readers find what was there before.
  func announceUnrecorded(_ key: String, _ hash: UInt64, _ stamp: UInt64) {
    announce(key, hash, stamp, isReadable: false)
    unplaced.append(UnplacedWrite(key: key, stamp: stamp))
    haveUnrecorded.store(true, ordering: .releasing)
  }

  @inline(never)
  private func noteNewer(_ isAbout: (String) -> Bool) {
    for index in unplaced.indices where isAbout(unplaced[index].key) { unplaced[index].isNewest = false }
  }

  /// Whether a write that could not be recorded is not in its memory tier yet. With the lock held.
  var isPlacing: Bool { !unplaced.isEmpty }

  /// The memory tier that made such a write is about to follow it. Takes the lock, so that nothing is announced before
  /// ``endPlacing()``.
  ///
  /// - Returns: Whether it is the newest under its key still.
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

  /// The same of a removal of many keys, until ``endRemovals(_:)``.
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

  /// The memory tiers have followed the removals of many keys that have these stamps.
  func endRemovals(_ stamps: ClosedRange<UInt64>) {
    lock.withLock { removals.removeAll { stamps.contains($0.stamp) } }
  }

  /// Whether an entry is gone that a memory tier may have still.
  func isBeingRemoved(_ key: String, writtenAt stamp: UInt64) -> Bool {
    lock.withLock { removals.contains { $0.stamp > stamp && key.utf8.starts(with: $0.bytes) } }
  }

  /// A write is about to be committed that is in no journal: until ``endChange(_:_:)`` nothing that is read under the key
  /// may be kept. With the lock held.
  func beginChange(_ key: String, _ hash: UInt64, _ stamp: UInt64) {
    changing = hash
    for observer in announced { observer.beginChange(key, hash: hash, stamp: stamp) }
    announce(key, hash, stamp)
  }

  /// It is committed, or will not be. With the lock held.
  func endChange(_ key: String, _ hash: UInt64) {
    changing = nil
    versions.advance(hash: hash)
    for observer in announced { observer.endChange(key, hash: hash) }
  }
}
