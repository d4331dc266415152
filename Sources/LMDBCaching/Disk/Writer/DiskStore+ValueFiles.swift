import LMDB
import Logging

extension DiskStore {
  /// A file without a record may belong to a write that is not committed yet; older than this it does not.
  static let orphanAge = 300

  /// Removes files that no record refers to any more. One that cannot be removed is swept later.
  func removeFiles(_ references: [ValueFileReference]) {
    for reference in references {
      do throws(SystemError) {
        try files.remove(reference)
      } catch {
        logger.warning("cache value file not removed", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Removes the files that a commit just made superfluous, or with ``Durability/ordered``, where a power cut may still
  /// undo that commit, those of the commit before. On the writer thread, or before it is started.
  func removeReplacedFiles(_ replaced: [ValueFileReference]) {
    guard durability == .ordered else { return removeFiles(replaced) }
    let earlier = lock.withLock {
      let earlier = state.replacedFiles
      state.replacedFiles = replaced
      return earlier
    }
    removeFiles(earlier)
  }

  /// Waits until everything committed is on the disk, then removes the files that waited for that.
  func synchronize() throws(LMDBError) {
    let replaced = lock.withLock {
      let replaced = state.replacedFiles
      state.replacedFiles = []
      return replaced
    }
    do throws(LMDBError) {
      try environment.sync(force: true)
    } catch {
      lock.withLock { state.replacedFiles = replaced + state.replacedFiles }
      throw error
    }
    removeFiles(replaced)
  }

  /// The same when nothing else is due, if files wait for it.
  func synchronizeReplacedFiles() {
    if lock.withLock({ state.replacedFiles.isEmpty }) { return }
    do throws(LMDBError) {
      try synchronize()
    } catch {
      logger.warning(
        "cache not synchronized: replaced value files stay",
        metadata: ["directory": "\(directory)", "error": "\(error)"])
    }
  }

  /// Removes the value files that no record refers to: left over by a process that died between the two. On the
  /// writer thread.
  ///
  /// - Parameter age: Files changed within this many seconds are left alone.
  func sweepValueFiles(olderThan age: Int = DiskStore.orphanAge) throws(CacheError) {
    let activity = "Sweeping the value files of \(directory)"
    let found = try calling(activity) { () throws(SystemError) in
      try files.files(olderThan: Int(clock.now / 1_000_000_000) - age)
    }
    var orphans: [String] = []
    for (name, key) in found {
      if let key, isReferredToByPending(name, key) { continue }
      if let key, try trusting(activity, { () throws(LMDBError) in try isReferredTo(name, key) }) { continue }
      orphans.append(name)
    }
    if orphans.isEmpty { return }
    // Before a power cut the last commit, of whichever process, might come undone, and refer to one of them again.
    if durability == .ordered { try trusting(activity) { () throws(LMDBError) in try synchronize() } }
    for name in orphans {
      try calling(activity) { () throws(SystemError) in try files.remove(name: name) }
      logger.notice("orphaned cache value file removed", metadata: ["name": "\(name)"])
    }
  }

  /// While commits fail, a write may wait for longer than the age of an orphan.
  private func isReferredToByPending(_ name: String, _ key: [UInt8]) -> Bool {
    key.withUnsafeBytes { key in
      lock.withLock {
        guard case .found(let frame) = pendingRecord(CacheKey(string: "", utf8: key), epoch: 0),
          let header = RecordHeader(frame.record), header.flags.contains(.file)
        else { return false }
        return ValueFileReference(header.payload(of: frame.record)).name == name
      }
    }
  }

  private func isReferredTo(_ name: String, _ key: [UInt8]) throws(LMDBError) -> Bool {
    try key.withBytes { (key) throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        try databaseKey.withDatabaseKey(key) { (databaseKey) throws(LMDBError) in
          try txn.withValue(forKey: databaseKey) { bytes -> Bool in
            guard let header = RecordHeader(bytes), header.flags.contains(.file) else { return false }
            return ValueFileReference(header.payload(of: bytes)).name == name
          } ?? false
        }
      }
    }
  }
}
