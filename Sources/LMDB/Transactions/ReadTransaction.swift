import CLMDB
import Platform
import Synchronization

/// A snapshot of the environment, lent to the body of ``Environment/withReadTransaction(_:)``.
///
/// It shows the state of one moment despite later writes. It stays on its thread, and its pointers must not be used
/// after its scope ends: pages may be reused, and the map may move.
public struct ReadTransaction: ~Copyable {
  @usableFromInline let handle: TransactionHandle

  /// `nil` to search with LMDB.
  let tree: Tree?
  private let control: ControlReference

  @usableFromInline
  init(_ lease: ReaderLease) {
    // Tests make `mdb_get` fail.
    let tree = FaultInjection.isOn ? nil : Tree(of: lease.transaction, lease.control)
    self.init(handle: lease.transaction, tree: tree, control: lease.control)
  }

  private init(handle: TransactionHandle, tree: Tree?, control: ControlReference) {
    (self.handle, self.tree, self.control) = (handle, tree, control)
  }

  /// A copy for a type that wraps the transaction. Must not be used after the original's scope ends.
  @unsafe package func alias() -> ReadTransaction { ReadTransaction(handle: handle, tree: tree, control: control) }

  /// The number of the transaction that the snapshot shows (`mdb_txn_id`).
  public var id: UInt64 { handle.id }

  /// Runs `body` with a key's value, directly in the map (`mdb_get`). Copies and allocates nothing.
  ///
  /// - Parameter body: Receives the bytes, unaligned and valid until it returns.
  /// - Returns: The result of `body`, or `nil` if the key is absent.
  /// - Throws: The error of `body`; `.badValueSize` for an empty key; `.corrupted` and others for a damaged file.
  @inlinable
  public func withValue<R: ~Copyable>(
    forKey key: UnsafeRawBufferPointer, in database: Database = .main,
    _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> R
  ) throws(LMDBError) -> R? {
    guard let value = try unsafe find(key, in: database) else { return nil }
    return try unsafe body(value)
  }

  @usableFromInline
  func find(_ key: UnsafeRawBufferPointer, in database: Database) throws(LMDBError) -> UnsafeRawBufferPointer? {
    if let tree, database == .main {
      switch unsafe tree.find(key) {
      case .value(let value): return unsafe value
      case .absent: return nil
      case .unknown: break
      }
    }
    return try unsafe findByLMDB(key, in: database)
  }

  @inline(never)
  func findByLMDB(_ key: UnsafeRawBufferPointer, in database: Database) throws(LMDBError) -> UnsafeRawBufferPointer? {
    let value = try unsafe handle.get(key, in: database)
    if tree == nil, !FaultInjection.isOn, let value = unsafe value {
      unsafe control.pointee.learnMap(of: value, handle)
    }
    return unsafe value
  }

  /// Runs `body` with a new cursor over a database, without a position (`mdb_cursor_open`).
  @inlinable
  public func withCursor<R: ~Copyable>(
    in database: Database = .main, _ body: (borrowing Cursor) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    try body(try Cursor(transaction: handle, database: database, writer: nil))
  }

  /// The size of a database (`mdb_stat`).
  public func statistics(of database: Database = .main) throws(LMDBError) -> Statistics {
    try handle.statistics(of: database)
  }
}

extension ReadTransaction {
  /// How many keys are looked up together: enough to keep memory busy, few enough that prefetched lines are still
  /// cached.
  package static var togetherLimit: Int { 32 }

  /// Looks up at most 32 keys of the main database, interleaving them to hide memory latency.
  ///
  /// - Parameters:
  ///   - keys: Keys as for ``withValue(forKey:in:_:)``.
  ///   - found: Set to each key's value, valid until the transaction ends, or `nil`. As long as `keys`.
  package func find(
    _ keys: UnsafeBufferPointer<UnsafeRawBufferPointer>,
    _ found: UnsafeMutableBufferPointer<UnsafeRawBufferPointer?>
  ) throws(LMDBError) {
    precondition(keys.count <= Self.togetherLimit && found.count == keys.count)
    guard let tree else {
      for index in 0..<keys.count { unsafe found[index] = try findByLMDB(keys[index], in: .main) }
      return
    }
    var unknown: [Int] = []
    unsafe TreeSearches(tree: tree).run(keys.span) { (index, result) in
      switch result {
      case .value(let value): unsafe found[index] = value
      case .absent: unsafe found[index] = nil
      case .unknown: unknown.append(index)
      }
    }
    for index in unknown { unsafe found[index] = try findByLMDB(keys[index], in: .main) }
  }
}

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
        let transaction = slot.transaction, transaction.renew() == MDB_SUCCESS
      {
        return ReaderLease(slot: slot, transaction: transaction, control: control)
      }
      // The slow path meets the same status again and handles it.
      slot.giveBack()
    }
    return try beginReadSlowly()
  }

  @usableFromInline
  func endRead(_ lease: ReaderLease) {
    if _fastPath(lease.slot.keepsPlace) {
      lease.transaction.reset()
    } else {
      unsafe lease.slot.endTransaction()
    }
    lease.slot.giveBack()
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
    do throws(LMDBError) {
      if let transaction = slot.transaction {
        let status = transaction.renew()
        if status == MDB_SUCCESS { return .begun(ReaderLease(slot: slot, transaction: transaction, control: control)) }
        guard status == MDB_BAD_RSLOT else { throw LMDBError(status: status, operation: .txnRenew) }
        // Another process owns this table slot now. Freeing the transaction would free that slot, so a few hundred
        // bytes are leaked and the slot starts over.
        slot.transaction = nil
      }
      let transaction = try changingReaderTable { () throws(LMDBError) in try handle.begin(flags: MDB_RDONLY) }
      slot.transaction = transaction
      return .begun(ReaderLease(slot: slot, transaction: transaction, control: control))
    } catch {
      if error.status == MDB_MAP_RESIZED {
        // The map grows when no slot is busy.
        slot.giveBack()
        try adoptMapSize()
        return .mapMoved
      }
      // A closing environment waits for busy slots.
      defer { slot.giveBack() }
      if error.status != MDB_READERS_FULL { throw error }
      _ = try changingReaderTable { () throws(LMDBError) in try handle.checkReaders() }
      return .tableFull
    }
  }
}

extension Environment {
  /// A transaction's position: its number, offset to exceed all numbers of the environment's earlier files.
  @inline(__always)
  package func position(of transaction: borrowing ReadTransaction) -> UInt64 {
    control.pointee.generation.load(ordering: .relaxed) &+ transaction.id
  }

  /// The position that a write transaction will have once committed.
  package func position(of transaction: borrowing WriteTransaction) -> UInt64 {
    control.pointee.generation.load(ordering: .relaxed) &+ transaction.id
  }
}
