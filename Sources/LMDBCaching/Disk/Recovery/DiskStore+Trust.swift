import LMDB
import Logging
import Synchronization

extension DiskStore {
  // MARK: Damage that is met while the cache is open

  /// Runs LMDB operations; the activity is named in the error. What tells of a damaged file ends the use of it.
  @inline(__always)
  func trusting<R: ~Copyable>(
    _ activity: @autoclosure () -> String, _ body: () throws(LMDBError) -> R
  ) throws(CacheError) -> R {
    do throws(LMDBError) { return try body() } catch { throw failure(error, during: activity()) }
  }

  @inline(never)
  func failure(_ error: LMDBError, during activity: String) -> CacheError {
    let failure = CacheError(error, during: activity)
    switch error.code {
    case .corrupted, .pageNotFound: distrust(failure)
    case .panic: reviveSoon()
    default: break
    }
    return failure
  }

  /// From now on the cache lives in memory, and in its journal as far as that reaches: LMDB may crash on the next page it
  /// looks at. The next opening verifies the file.
  private func distrust(_ error: CacheError) {
    if isDistrusted.exchange(true, ordering: .acquiringAndReleasing) { return }
    environment.breakOff()
    voidMark()
    lock.withLock { state.failure = CommitFailure(error: error, attempts: 1, retryAt: .max) }
    logger.error(
      "cache file is damaged: the cache goes on in memory, and verifies the file when it is opened next",
      metadata: ["directory": "\(directory)", "error": "\(error)"])
  }

  private func voidMark() {
    do throws(SystemError) {
      try CleanExitMark.makeVoid(in: directory)
    } catch {
      logger.error("cache mark not removed", metadata: ["directory": "\(directory)", "error": "\(error)"])
    }
  }

  // MARK: The mark of what is sound

  /// After opening: what is there was verified, or is as it was when it was sound.
  static func markOpened(_ directory: String, _ durability: Durability) throws(CacheError) {
    try calling("Opening the cache in \(directory)") { () throws(SystemError) in
      if case .mark(let mark) = try CleanExitMark.read(in: directory), try mark.holds(in: directory) { return }
      try CleanExitMark.write(in: directory, durability: durability, isSynchronized: false)
    }
  }

  /// A database that was marked sound and turns out not to be is verified when it is opened next.
  static func distrustIfDamaged(_ directory: String, _ error: CacheError) {
    guard error.code == .corruptedRecord || error.code == .damagedDatabase else { return }
    // The opening's error is the one that is told.
    do throws(SystemError) { try CleanExitMark.makeVoid(in: directory) } catch {}
  }

  /// Marks what has been there since the last look; on the writer thread, at times.
  ///
  /// - Parameter lastID: The last transaction at the last look.
  func markIfIdle(since lastID: inout UInt64, marked: inout UInt64) {
    let id = environment.lastPosition()
    defer { lastID = id }
    if id != lastID || id == marked || isDistrusted.load(ordering: .acquiring) { return }
    do throws(SystemError) {
      try CleanExitMark.write(in: directory, durability: durability, isSynchronized: false)
    } catch {
      // The next opening verifies; and what is wrong with the disk, the next commit tells.
    }
    marked = id
    // Another thread may have met damage in between.
    if isDistrusted.load(ordering: .acquiring) { voidMark() }
  }

  /// After the last commit of the last process. Without the mark the next opening verifies.
  func markCleanExit() {
    if isDistrusted.load(ordering: .acquiring) { return }
    do throws(CacheError) {
      try calling("Marking the cache in \(directory)") { () throws(SystemError) in
        guard try place.withLock({ $0.processLock }).tryOwn() else { return }
        if case .mark(let mark) = try CleanExitMark.read(in: directory), mark.isSynchronized,
          try mark.holds(in: directory)
        {
          return
        }
        let synchronized = outcome { () throws(LMDBError) in try environment.sync(force: true) }
        guard case .success = synchronized else { return }
        try CleanExitMark.write(in: directory, durability: durability, isSynchronized: true)
      }
    } catch {
      logger.warning("cache not marked as closed", metadata: ["directory": "\(directory)", "error": "\(error)"])
    }
  }
}
