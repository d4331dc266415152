import Platform
import Synchronization

/// The memory tiers over a store.
///
/// Announcements are made with the journal's lock held, so that they are in the order of the writes.
// Sendable: `announced`, `changing` and `unplaced` are touched with the lock held only.
final class StoreObservers: @unchecked Sendable {
  private let lock: ConditionLock
  /// With the lock held.
  private(set) var announced: [any DiskStoreObserver] = []
  /// The hash of the key that a transaction is about to change. With the lock held.
  private(set) var changing: UInt64?
  /// What those that were removed had counted. With the lock held.
  private var former = CacheStatistics()
  /// How many writes that could not be recorded are on their way to the memory tier that is to have them, and still has
  /// what was there before. With the lock held.
  private(set) var unplaced = 0
  /// How many there are: the common case is one, the writer itself.
  let count = Atomic<Int>(0)
  /// Advance with every write that is announced, before it can be read.
  let versions = KeyVersions()

  init(_ lock: ConditionLock) { self.lock = lock }

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
    for observer in announced { observer.willChange(key, hash: hash, stamp: stamp, isReadable: isReadable) }
  }

  /// The same of a write that is in no journal: until ``endPlacing()`` readers find what was there before.
  func announceUnrecorded(_ key: String, _ hash: UInt64, _ stamp: UInt64) {
    unplaced += 1
    announce(key, hash, stamp, isReadable: false)
  }

  /// The memory tier that made such a write has followed it. Takes the lock.
  func endPlacing() {
    lock.withLock {
      unplaced -= 1
      if unplaced == 0 { lock.signalAll(.progress) }
    }
  }

  /// The same of a removal of many keys.
  func announceAll(_ stamp: UInt64) {
    versions.advanceAll()
    for observer in announced { observer.willChangeAll(stamp: stamp) }
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
