import Platform
import Synchronization

// The blocks of the journal's file. On a full disk, a store without a block raises SIGBUS, so a segment reserves blocks
// before it grows; idle segments give them back.

extension Journal {
  private static let leastIdleLooks = 2

  /// Writer thread, about once a second.
  func makeRound() {
    let isIdle = lock.withLock {
      let isIdle = state.lookedAt == state.lastNumber && !hasPending.load(ordering: .relaxed)
      state.lookedAt = state.lastNumber
      state.idleLooks = isIdle ? state.idleLooks + 1 : 0
      return state.idleLooks == Self.leastIdleLooks
    }
    if isIdle { giveBlocksBack() }
  }

  /// Returns spare segments' blocks to the disk, except at their start; the active segment keeps its blocks. Only the
  /// writer thread commits, so nothing is sealed while no spare segment exists.
  func giveBlocksBack() {
    let segments = lock.withLock {
      if state.keepsBlocks { return [] as [JournalSegment] }
      state.givingBack = state.spare.filter(\.hasBlocksToGiveBack)
      state.spare.removeAll(where: \.hasBlocksToGiveBack)
      return state.givingBack
    }
    if segments.isEmpty { return }
    var keepsBlocks = false
    for segment in segments where !keepsBlocks {
      // A failure only costs space.
      do throws(SystemError) { try segment.giveBlocksBack() } catch { keepsBlocks = error.errno == EOPNOTSUPP }
    }
    lock.withLock {
      state.givingBack = []
      state.spare += segments
      state.keepsBlocks = keepsBlocks
      lock.signalAll(.progress)
    }
  }

  /// Reserves blocks for `size` more bytes of a segment. Requires the lock.
  func hasBlocks(_ segment: JournalSegment, for size: Int) -> Bool {
    // On a full disk, writes continue in the next segment; larger ones are committed at once.
    do throws(SystemError) { return try segment.reserve(size) } catch { return false }
  }
}
