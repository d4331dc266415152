import LMDB
import Synchronization

/// Distinguishes this process's commits from those of others, so that one comparison tells a memory hit whether another
/// process may have replaced its entry.
///
/// An entry validated at ``foreignPosition``, the newest transaction known to be another process's, or later is
/// current. Ids are positions (``Environment/position(of:)``), which keep increasing when files are replaced, so
/// nothing read from the old files seems current.
final class TransactionTracker: Sendable {
  /// The last id when this process began; everything it reads is at least this current.
  let first: UInt64
  /// Every id up to this one has been classified.
  private let known: Atomic<UInt64>
  private let foreign: Atomic<UInt64>
  /// `foreign`, or `.max` during a removal of many entries.
  private let required: Atomic<UInt64>
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

  /// The position at which an entry must be validated to be served from memory, or `.max` if the disk must be read.
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

  private func setForeign(_ id: UInt64, _ removals: Int) {
    foreign.store(id, ordering: .relaxed)
    required.store(removals == 0 ? id : .max, ordering: .releasing)
  }

  /// Makes every read go to the disk until the matching ``endRemoval()``. Memory tiers drop entries one by one, and
  /// once one reader misses an entry no other may find it.
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

  /// Announces the id of this process's write transaction before its commit. LMDB assigns ids under its writer mutex,
  /// so no other process can commit under this one.
  func willCommit(_ id: UInt64) {
    removals.withLock { removals in
      let last = id &- 1
      if last > known.load(ordering: .relaxed) { setForeign(last, removals) }
      known.store(max(id, known.load(ordering: .relaxed)), ordering: .releasing)
    }
  }

  /// Withdraws an announcement: the commit failed, and another process may use the id.
  func didNotCommit(_ id: UInt64) {
    removals.withLock { _ in
      if known.load(ordering: .relaxed) == id { known.store(id &- 1, ordering: .releasing) }
    }
  }

  /// Invalidates every memory entry: this process committed other processes' writes.
  func invalidate() {
    removals.withLock { removals in setForeign(known.load(ordering: .relaxed), removals) }
  }
}
