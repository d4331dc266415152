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
    try control.pointee.checkUsable("Environment.growMap")
    guard control.pointee.writerThread.load(ordering: .relaxed) != PlatformThread.current else {
      throw LMDBError(
        code: .busy, operation: "Environment.growMap",
        message: "This thread holds a write transaction. End it before growing the map.")
    }
    var backoff = Backoff(limit: Int64(clamping: options.waits.map))
    while !writerMutex.tryLock() {
      guard backoff.pause() else { throw Self.busyMap }
    }
    defer { writerMutex.unlock() }
    try moveMap(to: Options.rounded(size), &backoff)
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
    try moveMap(to: nil, &backoff)
  }

  private static var busyMap: LMDBError {
    LMDBError(
      code: .busy, operation: "Environment.growMap",
      message: "Running transactions did not end in time. Keep them short, and retry.")
  }

  /// Moves the map while it is unused. The caller holds `writerMutex`.
  ///
  /// - Parameter size: `nil` for the size recorded in the file.
  private func moveMap(to size: Int?, _ backoff: inout Backoff) throws(LMDBError) {
    try whileQuiet(&backoff, busy: Self.busyMap) { () throws(LMDBError) in try moveQuietMap(to: size) }
  }

  /// Runs `body` while there are no reads and no control operations. The caller holds `writerMutex`.
  ///
  /// - Parameter mends: Whether `body` repairs a broken environment.
  func whileQuiet(
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
    forgetMap()
    try body()
  }

  private func moveQuietMap(to size: Int?) throws(LMDBError) {
    var information = MDB_envinfo()
    var status = Calls.information(handle, &information)
    guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envInfo) }
    let target = size ?? recordedMapSize
    guard target > information.me_mapsize else { return }

    // LMDB unmaps before it maps, and is left without a map on failure. So try first, with the old map in place.
    var descriptor: Int32 = -1
    status = Calls.descriptor(handle, &descriptor)
    guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envGetDescriptor) }
    _ = try system { () throws(SystemError) in
      try MemoryMap(descriptor: descriptor, path: directory, size: target, .reading)
    }

    status = Calls.setMapSize(handle, target, directory: directory)
    guard status == MDB_SUCCESS else {
      if status != EINVAL {
        // The old map is gone and the new one failed.
        control.pointee.raise(.broken)
      }
      throw LMDBError(status: status, operation: .envSetMapSize)
    }
  }
}
