import CLMDB
import Platform
import Synchronization

extension Environment {
  /// Runs `body` with a snapshot of the last committed state.
  ///
  /// Keep it short: pages visible to a snapshot are not reused, so the file grows. The transaction comes from a pool
  /// (`mdb_txn_renew`) and is reset when `body` ends (`mdb_txn_reset`).
  ///
  /// Avoid nested reads: each takes a pool slot and has a separate snapshot, and during a map growth the inner one
  /// waits until the growth gives up on the outer one.
  ///
  /// - Throws: The error of `body`; `.closed`; `.unavailableReaderSlot` or `.readersFull` if no slot becomes free in
  ///   time.
  @inlinable
  public func withReadTransaction<R: ~Copyable>(
    _ body: (borrowing ReadTransaction) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    let lease = try beginRead()
    defer { endRead(lease) }
    return try body(ReadTransaction(lease))
  }

  @usableFromInline
  func beginRead() throws(LMDBError) -> ReaderLease {
    let slot = slots[slots.preferred]
    if slot.take() {
      if control.pointee.gate.load(ordering: .sequentiallyConsistent) == 0,
        let transaction = slot.transaction, Calls.renew(transaction) == MDB_SUCCESS
      {
        return ReaderLease(slot: slot, transaction: transaction, self)
      }
      // The slow path meets the same status again and handles it.
      slot.giveBack()
    }
    return try beginReadSlowly()
  }

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

  /// The uncommon cases: the first use of a slot, contention, a closed gate, failures.
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
          // Slots that keep their place in the reader table come first.
          let slot = slots[offset < slots.kept ? (preferred + offset) % slots.kept : offset]
          guard slot.take() else { continue }
          // When the shared table is full, only slots that already have a place in it can help.
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

  /// Begins or renews the transaction of a slot taken by the caller. Gives the slot back on failure.
  private func beginRead(in slot: ReaderSlot) throws(LMDBError) -> Attempt {
    var status: Int32
    var operation = Calls.Name.txnRenew
    if let transaction = slot.transaction {
      status = Calls.renew(transaction)
      if status == MDB_BAD_RSLOT {
        // Another process owns this table slot now. Freeing the transaction would free that slot, so a few hundred
        // bytes are leaked and the slot starts over.
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
