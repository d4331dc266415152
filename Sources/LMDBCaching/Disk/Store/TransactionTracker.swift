import LMDB
import Synchronization

/// Tells this process's commits from those of others, so that a memory hit knows with one comparison whether
/// its entry may have been replaced behind its back.
///
/// An entry is current as of a transaction id; it stays so until another process commits. ``foreignEpoch`` is
/// the newest id known to be another process's: an entry validated at it, or later, is current.
final class TransactionTracker: Sendable {
  /// The last id when this process began: whatever it has read since is current as of it at least.
  let first: UInt64
  /// Every id up to this one has been looked at.
  private let known: Atomic<UInt64>
  private let foreign: Atomic<UInt64>
  private let lock = Mutex(())

  init(lastTransactionID: UInt64) {
    first = lastTransactionID
    known = Atomic(lastTransactionID)
    foreign = Atomic(lastTransactionID)
  }

  /// The newest transaction id of another process, given the environment's last id.
  @inline(__always)
  func foreignEpoch(lastTransactionID: UInt64) -> UInt64 {
    if lastTransactionID > known.load(ordering: .acquiring) { noteForeign(lastTransactionID) }
    return foreign.load(ordering: .relaxed)
  }

  @inline(never)
  private func noteForeign(_ id: UInt64) {
    lock.withLock { _ in
      guard id > known.load(ordering: .relaxed) else { return }
      foreign.store(id, ordering: .relaxed)
      known.store(id, ordering: .releasing)
    }
  }

  /// Announces the id of a write transaction of this process, before it is committed: ids are handed out
  /// under LMDB's writer mutex, so nobody else can commit under this one.
  func willCommit(_ id: UInt64) {
    lock.withLock { _ in
      if id - 1 > known.load(ordering: .relaxed) { foreign.store(id - 1, ordering: .relaxed) }
      known.store(max(id, known.load(ordering: .relaxed)), ordering: .releasing)
    }
  }

  /// Takes an announcement back: the commit failed, and the id may become another process's.
  func didNotCommit(_ id: UInt64) {
    lock.withLock { _ in
      if known.load(ordering: .relaxed) == id { known.store(id - 1, ordering: .releasing) }
    }
  }

  /// Makes every entry be looked at again: this process committed what other processes had written.
  func invalidate() {
    lock.withLock { _ in foreign.store(known.load(ordering: .relaxed), ordering: .releasing) }
  }
}
