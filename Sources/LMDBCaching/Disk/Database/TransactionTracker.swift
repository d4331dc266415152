import LMDB
import Synchronization

/// Tells this process's commits from those of others, so that a memory hit knows with one comparison whether
/// its entry may have been replaced behind its back.
///
/// An entry is current as of a transaction id; it stays so until another process commits. ``foreignPosition`` is
/// the newest id known to be another process's: an entry validated at it, or later, is current.
///
/// An id here is the transaction's position (``Environment/position(of:)``): those of files that were opened in place of
/// others are greater than all before, so that nothing which was read from the old ones is taken for current.
final class TransactionTracker: Sendable {
  /// The last id when this process began: whatever it has read since is current as of it at least.
  let first: UInt64
  /// Every id up to this one has been looked at.
  private let known: Atomic<UInt64>
  private let foreign: Atomic<UInt64>
  /// `foreign`, or `.max` while many entries are being removed.
  private let required: Atomic<UInt64>
  /// How many removals are under way.
  private let removals = Mutex(0)

  init(lastTransactionID: UInt64) {
    first = lastTransactionID
    known = Atomic(lastTransactionID)
    foreign = Atomic(lastTransactionID)
    required = Atomic(lastTransactionID)
  }

  /// The newest transaction id of another process, given the environment's last id.
  @inline(__always)
  func foreignPosition(lastTransactionID: UInt64) -> UInt64 {
    if lastTransactionID > known.load(ordering: .acquiring) { noteForeign(lastTransactionID) }
    return foreign.load(ordering: .relaxed)
  }

  /// What an entry has to be validated at to be served without a look at the disk: the foreign position, or nothing will do.
  @inline(__always)
  func requiredPosition(lastTransactionID: UInt64) -> UInt64 {
    if lastTransactionID > known.load(ordering: .acquiring) { noteForeign(lastTransactionID) }
    return required.load(ordering: .acquiring)
  }

  @inline(never)
  private func noteForeign(_ id: UInt64) {
    removals.withLock { removals in
      guard id > known.load(ordering: .relaxed) else { return }
      setForeign(id, removals)
      known.store(id, ordering: .releasing)
    }
  }

  /// With the lock of `removals` held.
  private func setForeign(_ id: UInt64, _ removals: Int) {
    foreign.store(id, ordering: .relaxed)
    required.store(removals == 0 ? id : .max, ordering: .releasing)
  }

  /// From now on the disk is asked for every entry, until as many calls of ``endRemoval()``: memory tiers lose theirs one
  /// after the other, and what one reader has found gone no other one may find.
  func beginRemoval() {
    removals.withLock { removals in
      removals += 1
      required.store(.max, ordering: .releasing)
    }
  }

  func endRemoval() {
    removals.withLock { removals in
      removals -= 1
      setForeign(foreign.load(ordering: .relaxed), removals)
    }
  }

  /// Announces the id of a write transaction of this process, before it is committed: ids are handed out
  /// under LMDB's writer mutex, so nobody else can commit under this one.
  func willCommit(_ id: UInt64) {
    removals.withLock { removals in
      let last = id &- 1
      if last > known.load(ordering: .relaxed) { setForeign(last, removals) }
      known.store(max(id, known.load(ordering: .relaxed)), ordering: .releasing)
    }
  }

  /// Takes an announcement back: the commit failed, and the id may become another process's.
  func didNotCommit(_ id: UInt64) {
    removals.withLock { _ in
      if known.load(ordering: .relaxed) == id { known.store(id &- 1, ordering: .releasing) }
    }
  }

  /// Makes every entry be looked at again: this process committed what other processes had written.
  func invalidate() {
    removals.withLock { removals in setForeign(known.load(ordering: .relaxed), removals) }
  }
}
