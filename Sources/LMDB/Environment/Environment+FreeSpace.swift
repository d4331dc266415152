import Platform

extension Environment {
  /// How far giving space back has come.
  package struct FreeSpaceProgress: Sendable {
    /// The page to go on from; `nil` if all is done.
    package var next: UInt64?
    /// Bytes that were made holes.
    package var bytes = 0
  }

  /// Makes holes of free pages, a part at a time, so that the disk has their space back: LMDB's file only grows. It keeps
  /// its length, and LMDB writes to the holes when it uses the pages again.
  ///
  /// Nobody writes meanwhile, and only pages are taken that the next write transaction could write over: no snapshot of any
  /// process can see them, nor can the state that is found after a power cut. The order of commits that LMDB relies on for
  /// its own reuse of pages is relied on here.
  ///
  /// - Parameters:
  ///   - first: The page to begin with.
  ///   - limit: Nanoseconds after which it ends.
  ///   - condition: Asked when nobody else writes; if it fails, nothing is done. The lock file has to be that of all who
  ///     read the data file.
  /// - Throws: `.system(EOPNOTSUPP)` where the file system has no holes; what beginning a write transaction throws.
  package func punchFreePages(
    from first: UInt64 = 0, within limit: Int64, if condition: () throws(LMDBError) -> Bool = { true }
  ) throws(LMDBError) -> FreeSpaceProgress {
    let now = MonotonicClock.nanoseconds
    let deadline = limit > .max - now ? .max : now + limit
    let transaction = try beginWrite()
    do throws(LMDBError) {
      let isAllowed = try condition()
      let progress =
        isAllowed
        ? try punchFreePages(from: first, until: deadline, last: transaction.id &- 1) : FreeSpaceProgress()
      transaction.abort()
      return progress
    } catch {
      transaction.abort()
      throw error
    }
  }

  /// With the write lock held.
  private func punchFreePages(
    from first: UInt64, until deadline: Int64, last: UInt64
  ) throws(LMDBError) -> FreeSpaceProgress {
    guard let locks else { throw LMDBError(code: .closed, operation: "Environment.punchFreePages") }
    // The next transaction may write over what was freed before the last commit, and before the oldest snapshot.
    let oldest = try readers().reduce(last) { min($0, $1.transactionID) }
    let info = try info()
    let pageSize = info.pageSize
    let pages = try freePages(from: first, below: UInt64(info.mapSize / pageSize), freedBefore: oldest)
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

  /// In ascending order. LMDB keeps them in a database of its own, under the number of the transaction that freed them.
  ///
  /// - Parameter end: Pages from this one on are not in the map.
  private func freePages(from first: UInt64, below end: UInt64, freedBefore oldest: UInt64) throws(LMDBError)
    -> [UInt64]
  {
    var pages: [UInt64] = []
    // LMDB lends that database to snapshots alone.
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
