import Platform
import Synchronization

// The blocks of the journal's file. A store into a place without blocks is SIGBUS on a full disk, so a segment gets them
// before it is filled further; while nothing is written, they are given back.

extension Journal {
  /// How many looks in a row have to find nothing written.
  private static let leastIdleLooks = 2

  /// About every second, on the writer thread.
  func makeRound() {
    let isIdle = lock.withLock {
      let isIdle = state.lookedAt == state.lastNumber && !hasPending.load(ordering: .relaxed)
      state.lookedAt = state.lastNumber
      state.idleLooks = isIdle ? state.idleLooks + 1 : 0
      return state.idleLooks == Self.leastIdleLooks
    }
    if isIdle { giveBlocksBack() }
  }

  /// Gives the disk back what spare segments have, but for their beginnings. The active one keeps what it has: writes go
  /// on in it meanwhile. On the writer thread, which alone commits, so that nothing is sealed without a spare one.
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
      // It only takes space.
      do throws(SystemError) { try segment.giveBlocksBack() } catch { keepsBlocks = error.errno == EOPNOTSUPP }
    }
    lock.withLock {
      state.givingBack = []
      state.spare += segments
      state.keepsBlocks = keepsBlocks
      lock.signalAll(.progress)
    }
  }

  /// Gets blocks for `size` more bytes of a segment. With the lock held.
  func hasBlocks(_ segment: JournalSegment, for size: Int) -> Bool {
    // On a full disk writes go on in the next segment, which has some; what is longer is committed at once.
    do throws(SystemError) { return try segment.reserve(size) } catch { return false }
  }
}
