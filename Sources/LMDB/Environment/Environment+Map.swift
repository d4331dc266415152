import CLMDB
import Platform
import Synchronization

extension Environment {
  /// Grows the map (`mdb_env_set_mapsize`). Does nothing if it is already that large.
  ///
  /// New reads wait; running ones have up to two seconds to end. The calling thread must not hold a transaction.
  ///
  /// - Parameter size: Bytes, rounded up to whole pages.
  /// - Throws: `.busy` if running reads or a write did not end in time; `.outOfMemory` if the address space does not
  ///   fit the old and new maps together. Nothing has changed then.
  public func growMap(to size: Int) throws(LMDBError) {
    try whileAlone(within: options.waits.map, busy: Self.busyMap) { () throws(LMDBError) in
      try moveQuietMap(to: Options.rounded(size))
    }
  }

  /// Adopts a map size that another process has grown, unless another thread is already doing so.
  func adoptMapSize() throws(LMDBError) {
    guard writerMutex.tryLock() else { return }
    defer { writerMutex.unlock() }
    try adoptMapSizeAsWriter()
  }

  /// Adopts another process's map size. The caller holds `writerMutex`.
  func adoptMapSizeAsWriter() throws(LMDBError) {
    var backoff = Backoff(limit: Int64(clamping: options.waits.map))
    try whileQuiet(&backoff, busy: Self.busyMap) { () throws(LMDBError) in
      try moveQuietMap(to: control.pointee.metaPages.recordedMapSize)
    }
  }

  private static var busyMap: LMDBError {
    LMDBError(
      code: .busy, operation: "Environment.growMap",
      message: "Running transactions did not end in time. Keep them short, and retry.")
  }

  /// Runs `body` while this process has no transaction and no control operation.
  ///
  /// - Parameters:
  ///   - busy: Thrown if running ones do not end in time, or the calling thread holds a write transaction.
  ///   - mends: Whether `body` repairs a broken environment.
  func whileAlone(
    within limit: UInt64, busy: LMDBError, mends: Bool = false, _ body: () throws(LMDBError) -> Void
  ) throws(LMDBError) {
    try control.pointee.checkUsable(busy.operation, except: mends ? .broken : [])
    if control.pointee.writerThread.load(ordering: .relaxed) == PlatformThread.current { throw busy }
    var backoff = Backoff(limit: Int64(clamping: limit))
    while !writerMutex.tryLock() {
      guard backoff.pause() else { throw busy }
    }
    defer { writerMutex.unlock() }
    try whileQuiet(&backoff, busy: busy, mends: mends, body)
  }

  /// ``whileAlone(within:busy:mends:_:)`` for a caller that holds `writerMutex`.
  private func whileQuiet(
    _ backoff: inout Backoff, busy: LMDBError, mends: Bool = false, _ body: () throws(LMDBError) -> Void
  ) throws(LMDBError) {
    // Stop long operations such as a sync first, then the readers, so that those wait only briefly.
    control.pointee.raise(.pausesUsers)
    defer { control.pointee.lower([.pausesUsers, .pausesReaders]) }
    while control.pointee.users.load(ordering: .sequentiallyConsistent) != 0 {
      guard backoff.pause() else { throw busy }
    }
    control.pointee.raise(.pausesReaders)
    while !slots.allFree {
      guard backoff.pause() else { throw busy }
    }
    // No other thread can be closing: that needs `writerMutex`.
    try control.pointee.checkUsable(busy.operation, except: mends ? .broken : [])
    control.pointee.forgetMap()
    try body()
  }

  private func moveQuietMap(to target: Int) throws(LMDBError) {
    guard target > (try handle.info().mapSize) else { return }

    // LMDB unmaps before it maps, and is left without a map on failure. So try first, with the old map in place.
    let descriptor = try handle.descriptor()
    _ = try system { () throws(SystemError) in
      try MemoryMap(descriptor: descriptor, path: directory, size: target, .reading)
    }

    do throws(LMDBError) {
      try handle.setMapSize(target)
    } catch {
      // Otherwise the old map is gone and the new one failed.
      if error.status != EINVAL { control.pointee.raise(.broken) }
      throw error
    }
  }
}

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
    let pageSize = info.main.pageSize
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
          let key = unsafe record.key.bytes
          let value = unsafe record.value.bytes
          guard key.byteCount == 8, key.load(as: UInt64.self) < oldest else { return }
          let words = value.byteCount / 8
          guard words > 0 else { throw Self.damagedFreeList }
          let count = value.load(as: UInt64.self)
          guard count < UInt64(words) else { throw Self.damagedFreeList }
          for index in 0..<Int(count) {
            let page = value.load(at: (index + 1) * 8, as: UInt64.self)
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

extension Environment {
  /// Takes the interprocess writer lock. The caller holds `writerMutex`.
  ///
  /// - Throws: `.lockTimeout` after `options.waits.otherProcesses`.
  func takeWriterLock(_ operation: String) throws(LMDBError) {
    guard let locks else { throw LMDBError(code: .panic, operation: operation) }
    guard try !locks.takeWriter(within: options.waits.otherProcesses) else { return }
    throw Self.lockTimeout(locks, operation)
  }

  /// Keeps other processes from writing until ``releaseWriterLock(for:)``. This process's transactions continue.
  ///
  /// - Throws: `.lockTimeout`; `.busy` in a write transaction.
  package func keepWriterLock(for owner: AnyObject) throws(LMDBError) {
    try lockWriter("Environment.keepWriterLock")
    defer { unlockWriter() }
    try takeWriterLock("Environment.keepWriterLock")
    locks?.keepWriter(for: owner)
  }

  /// Does nothing if this owner does not keep the lock.
  package func releaseWriterLock(for owner: AnyObject) {
    writerMutex.lock()
    defer { writerMutex.unlock() }
    locks?.endKeepingWriter(for: owner)
  }

  /// Runs `body`, in which LMDB takes its reader table's mutex, while no other process does.
  func changingReaderTable<R>(_ body: () throws(LMDBError) -> R) throws(LMDBError) -> R {
    guard let locks else { throw LMDBError(code: .panic, operation: "mdb_txn_begin") }
    readerTableMutex.lock()
    defer { readerTableMutex.unlock() }
    return try Self.changingReaderTable(locks, options, body)
  }

  /// For an environment that is not shared yet.
  static func changingReaderTable<R>(
    _ locks: FileLocks, _ options: Options, _ body: () throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    guard options.usesLockFile, locks.canLock else { return try body() }
    guard try locks.takeReaderTable(within: options.waits.otherProcesses) else {
      throw lockTimeout(locks, "mdb_txn_begin")
    }
    defer { locks.releaseReaderTable() }
    return try body()
  }

  static func lockTimeout(_ locks: FileLocks, _ operation: String) -> LMDBError {
    let remedy: String
    // The holder only improves the message.
    let holder: LockHolder?
    do throws(LMDBError) { holder = try locks.holder() } catch { holder = nil }
    if let holder {
      remedy = "Another process holds a lock of the file and does not let go: \(holder)."
    } else {
      remedy =
        "Another process holds a lock of the file and does not let go. Look for a suspended one (state T) among "
        + "those that use it, and continue it or end it."
    }
    return LMDBError(code: .lockTimeout, operation: operation, message: remedy)
  }
}

extension Environment {
  /// A reader table slot with an open snapshot, of any process.
  public struct Reader: Sendable, Equatable {
    public var process: Int32
    /// The last transaction visible to the snapshot. Pages that later ones free are not reused until it ends.
    public var transactionID: UInt64
  }

  /// All open snapshots of all processes (`mdb_reader_list`), including dead ones until ``checkReaders()``.
  public func readers() throws(LMDBError) -> [Reader] {
    try use("Environment.readers") { () throws(LMDBError) in
      // A header, then a line per slot with the process, the thread and the transaction ("-" for none).
      try handle.readers().split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ")
        guard words.count == 3, let process = Int32(words[0]), let id = UInt64(words[2]) else { return nil }
        return Reader(process: process, transactionID: id)
      }
    }
  }
}
