import Platform

extension Environment {
  /// Progress of returning free space.
  package struct FreeSpaceProgress: Sendable {
    /// The page to continue from; `nil` when done.
    package var next: UInt64?
    /// Bytes turned into holes.
    package var bytes = 0
  }

  /// Punches holes into free pages, a part at a time, to return their space to the file system. LMDB never shrinks its
  /// file; it keeps its length, and LMDB writes to the holes when it reuses the pages.
  ///
  /// Holds the write lock, and takes only pages that the next write transaction could overwrite: neither a snapshot of
  /// any process nor the state after a power cut refers to them. This relies on the same order of commits as LMDB's own
  /// page reuse.
  ///
  /// - Parameters:
  ///   - first: The page to begin with.
  ///   - limit: Nanoseconds of punching until it stops.
  ///   - condition: Evaluated under the write lock; if false, nothing is done. The lock file must be the one that all
  ///     readers of the data file use.
  /// - Throws: `.system(EOPNOTSUPP)` if the file system has no holes; the errors of beginning a write transaction.
  package func punchFreePages(
    from first: UInt64 = 0, within limit: Int64, if condition: () throws(LMDBError) -> Bool = { true }
  ) throws(LMDBError) -> FreeSpaceProgress {
    let transaction = try beginWrite()
    do throws(LMDBError) {
      let isAllowed = try condition()
      let progress =
        isAllowed
        ? try punchFreePages(from: first, within: limit, last: transaction.id &- 1) : FreeSpaceProgress()
      transaction.abort()
      return progress
    } catch {
      transaction.abort()
      throw error
    }
  }

  /// Requires the write lock.
  private func punchFreePages(
    from first: UInt64, within limit: Int64, last: UInt64
  ) throws(LMDBError) -> FreeSpaceProgress {
    guard let locks else { throw LMDBError(code: .closed, operation: "Environment.punchFreePages") }
    // The next transaction may overwrite pages freed before the last commit and before the oldest snapshot.
    let oldest = try readers().reduce(last) { min($0, $1.transactionID) }
    let info = try info()
    let pageSize = info.pageSize
    let pages = try freePages(from: first, below: UInt64(info.mapSize / pageSize), freedBefore: oldest)
    // From here on, so that each call makes progress however long the lock and the list took.
    let deadline = MonotonicClock.nanoseconds.addingClamped(limit)
    var progress = FreeSpaceProgress()
    var index = 0
    while index < pages.count {
      if MonotonicClock.nanoseconds > deadline {
        progress.next = pages[index]
        break
      }
      var end = index + 1
      while end < pages.count, pages[end] == pages[end - 1] + 1 { end += 1 }
      let (offset, size) = (Int(pages[index]) * pageSize, (end - index) * pageSize)
      try locks.punchHole(at: offset, size: size)
      progress.bytes += size
      index = end
    }
    return progress
  }

  /// Free pages in ascending order. LMDB stores them in a database keyed by the transaction that freed them.
  ///
  /// - Parameter end: The first page that is not in the map.
  private func freePages(from first: UInt64, below end: UInt64, freedBefore oldest: UInt64) throws(LMDBError)
    -> [UInt64]
  {
    var pages: [UInt64] = []
    // LMDB gives only snapshots access to that database.
    try withReadTransaction { (snapshot) throws(LMDBError) in
      try snapshot.withCursor(in: Database(handle: 0)) { (cursor) throws(LMDBError) in
        var position = try cursor.first()
        while let record = position {
          guard record.key.count == 8, record.key.loadUnaligned(as: UInt64.self) < oldest else { return }
          let words = record.value.count / 8
          guard words > 0 else { throw Self.damagedFreeList }
          let count = record.value.loadUnaligned(as: UInt64.self)
          guard count < UInt64(words) else { throw Self.damagedFreeList }
          for index in 0..<Int(count) {
            let page = record.value.loadUnaligned(fromByteOffset: (index + 1) * 8, as: UInt64.self)
            guard page < end else { throw Self.damagedFreeList }
            if page >= first { pages.append(page) }
          }
          position = try cursor.next()
        }
      }
    }
    pages.sort()
    return pages
  }

  private static var damagedFreeList: LMDBError {
    LMDBError(
      code: .corrupted, operation: "Environment.punchFreePages", message: "The list of free pages is damaged.")
  }
}
