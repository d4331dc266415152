import CLMDB
import Platform
import Synchronization

extension Environment {
  /// Runs `body` with a snapshot of the last committed state.
  ///
  /// Keep it short: pages that a snapshot can see are not reused, and the file grows meanwhile. The transaction comes
  /// from a pool (`mdb_txn_renew`) and is reset as soon as `body` returns or throws (`mdb_txn_reset`).
  ///
  /// Reads may be nested, but should not be: each takes a slot of the pool and has a snapshot of its own, and while
  /// the map is to grow, the inner one waits until the growth gives up on the outer one.
  ///
  /// - Throws: what `body` throws; `.closed`; `.unavailableReaderSlot` or `.readersFull` if no slot gets
  ///   free in time.
  @inlinable
  public func withReadTransaction<R: ~Copyable>(
    _ body: (borrowing ReadTransaction) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    let lease = try beginRead()
    defer { endRead(lease) }
    return try body(ReadTransaction(lease))
  }

  /// Takes a slot and renews its transaction.
  @usableFromInline
  func beginRead() throws(LMDBError) -> ReaderLease {
    let slot = slots[slots.preferred]
    if slot.take() {
      if control.pointee.gate.load(ordering: .sequentiallyConsistent) == 0,
        let transaction = slot.transaction, Calls.renew(transaction) == MDB_SUCCESS
      {
        return ReaderLease(slot: slot, transaction: transaction, self)
      }
      // Whatever the status was, the slow path meets it again and judges it.
      slot.giveBack()
    }
    return try beginReadSlowly()
  }

  /// Resets the transaction and frees the slot.
  @usableFromInline
  func endRead(_ lease: ReaderLease) {
    let slot = ReaderSlot(at: lease.slot)
    if _fastPath(slots.keepsPlace(slot)) {
      Calls.reset(lease.transaction)
    } else {
      Calls.abort(lease.transaction)
      slot.transaction = nil
    }
    slot.giveBack()
  }

  /// Everything but the common case: the first use of a slot, contention, a closed gate, statuses.
  @inline(never)
  private func beginReadSlowly() throws(LMDBError) -> ReaderLease {
    var backoff = Backoff(limit: Int64(clamping: options.waits.read))
    var isTableFull = false
    let preferred = slots.preferred
    while true {
      try control.pointee.checkUsable("Environment.withReadTransaction")
      if !control.pointee.current.contains(.pausesReaders) {
        isTableFull = false
        for offset in 0..<slots.count {
          // Those that keep their places first.
          let slot = slots[offset < slots.kept ? (preferred + offset) % slots.kept : offset]
          guard slot.take() else { continue }
          // When the shared table is full, only slots that have their place in it can help.
          if isTableFull && slot.transaction == nil {
            slot.giveBack()
            continue
          }
          guard control.pointee.current.isDisjoint(with: .unusable.union(.pausesReaders)) else {
            slot.giveBack()
            break
          }
          switch try beginRead(in: slot) {
          case .begun(let lease): return lease
          case .tableFull: isTableFull = true
          case .mapMoved: break
          }
        }
      }
      guard backoff.pause() else {
        throw isTableFull
          ? LMDBError(status: MDB_READERS_FULL, operation: .txnBegin)
          : LMDBError(code: .unavailableReaderSlot, operation: "Environment.withReadTransaction")
      }
    }
  }

  private enum Attempt {
    case begun(ReaderLease)
    case tableFull
    case mapMoved
  }

  /// Begins or renews the transaction of a slot that the caller took. Gives the slot back unless it succeeds.
  private func beginRead(in slot: ReaderSlot) throws(LMDBError) -> Attempt {
    var status: Int32
    var operation = Calls.Name.txnRenew
    if let transaction = slot.transaction {
      status = Calls.renew(transaction)
      if status == MDB_BAD_RSLOT {
        // Its place in the table belongs to another process by now. Freeing it would free that process's place, so
        // it is given up, a few hundred bytes, and the slot begins anew.
        slot.transaction = nil
      }
    } else {
      status = MDB_BAD_RSLOT
    }
    if slot.transaction == nil {
      operation = .txnBegin
      var begun: OpaquePointer?
      do throws(LMDBError) {
        status = try changingReaderTable { Calls.begin(handle, flags: UInt32(MDB_RDONLY), &begun) }
      } catch {
        slot.giveBack()
        throw error
      }
      slot.transaction = begun
    }
    if status == MDB_SUCCESS, let transaction = slot.transaction {
      return .begun(ReaderLease(slot: slot, transaction: transaction, self))
    }
    if status == MDB_READERS_FULL {
      defer { slot.giveBack() }
      var dead: Int32 = 0
      let checked = try changingReaderTable { Calls.checkReaders(handle, &dead) }
      guard checked == MDB_SUCCESS else { throw LMDBError(status: checked, operation: .readerCheck) }
      return .tableFull
    }
    slot.giveBack()
    if status == MDB_MAP_RESIZED {
      try adoptMapSize()
      return .mapMoved
    }
    throw LMDBError(status: status, operation: operation)
  }
}
