import LMDB
import Logging
import Platform
import Synchronization

/// Removes value files that no record refers to any more: those that a commit replaced, and those that a process left that
/// died between writing a file and its record.
///
/// With ``Durability/ordered`` a power cut may undo the last commit, so the files that it replaced stay until the next one,
/// or a sync, has made it durable.
final class ValueFileKeeper: Sendable {
  /// Seconds for which a file without a record is left alone in any case.
  static let orphanAge = 300

  private let files: ValueFiles
  private let database: EntryDatabase
  private let journal: Journal
  private let durability: Durability
  private let clock: CacheClock
  private let events: EventLog
  /// Replaced by the last commit, and not removed yet.
  private let replaced = Mutex<[ValueFileReference]>([])

  init(
    _ files: ValueFiles, _ database: EntryDatabase, _ journal: Journal, durability: Durability, events: EventLog
  ) {
    self.files = files
    self.database = database
    self.journal = journal
    self.durability = durability
    self.events = events
    clock = journal.clock
  }

  /// Removes files that no record refers to. One that cannot be removed is swept later.
  func remove(_ references: [ValueFileReference]) {
    for reference in references {
      do throws(SystemError) {
        try files.remove(reference)
      } catch {
        events.log(.warning, "cache value file not removed", ["error": "\(error)"])
      }
    }
  }

  /// Takes the files that a commit just replaced. On the writer thread, or before it is started.
  func didReplace(_ files: [ValueFileReference]) {
    guard durability == .ordered else { return remove(files) }
    let earlier = replaced.withLock { replaced in
      let earlier = replaced
      replaced = files
      return earlier
    }
    remove(earlier)
  }

  /// Waits until everything committed is on the disk, then removes the files that waited for that.
  func synchronize() throws(CacheError) {
    let waiting = replaced.withLock { replaced in
      let waiting = replaced
      replaced = []
      return waiting
    }
    do throws(CacheError) {
      try database.synchronize()
    } catch {
      replaced.withLock { $0 = waiting + $0 }
      throw error
    }
    journal.lock.withLock { journal.didSynchronize() }
    remove(waiting)
  }

  /// The same when nothing else is due, if files or writes wait for it.
  func synchronizeIfAwaited() {
    let isAwaited =
      replaced.withLock { !$0.isEmpty } || journal.lock.withLock { journal.state.unsynchronized != nil }
    guard isAwaited else { return }
    do throws(CacheError) {
      try synchronize()
    } catch {
      events.log(
        .warning, "cache not synchronized: replaced value files stay",
        ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
  }

  // MARK: Orphans

  /// Removes the value files that no record refers to. On the writer thread.
  ///
  /// The files of a process whose journal is there are its own: it lives, or its writes are yet to be applied.
  ///
  /// - Parameter age: Files changed within this many seconds are left alone.
  func sweep(olderThan age: Int = ValueFileKeeper.orphanAge) throws(CacheError) {
    let activity = "Sweeping the value files of \(database.directoryName)"
    let own = journal.identifier
    let found = try calling(activity) { () throws(SystemError) in
      try files.files(olderThan: Int(clock.now / 1_000_000_000) - age)
    }
    var orphans: [ValueFiles.Found] = []
    for file in found {
      if file.owner != own, try calling(activity, { () throws(SystemError) in try files.hasJournal(of: file.owner) }) {
        continue
      }
      if files.isBeingWritten(file.name) || isReferredToByPending(file) { continue }
      if let key = file.key, try isReferredTo(file.name, key) { continue }
      orphans.append(file)
    }
    if orphans.isEmpty { return }
    // Before a power cut the last commit, of whichever process, might come undone, and refer to one of them again.
    if durability == .ordered { try synchronize() }
    for file in orphans {
      try calling(activity) { () throws(SystemError) in try files.remove(file) }
      events.log(.notice, "orphaned cache value file removed", ["name": "\(file.name)"])
    }
  }

  /// While commits fail, a write may wait for longer than the age of an orphan.
  private func isReferredToByPending(_ file: ValueFiles.Found) -> Bool {
    guard let key = file.key else { return false }
    return key.withUnsafeBytes { key in
      journal.lock.withLock {
        guard case .found(let frame) = journal.lookup(CacheKey(string: "", utf8: key), position: 0),
          let header = RecordHeader(frame.record), header.flags.contains(.file)
        else { return false }
        return ValueFileReference(header.payload(of: frame.record)).name == file.name
      }
    }
  }

  private func isReferredTo(_ name: String, _ key: [UInt8]) throws(CacheError) -> Bool {
    try key.withBytes { (key) throws(CacheError) in
      try database.borrowRecord(CacheKey(string: "", utf8: key)) { bytes -> Bool in
        guard let header = RecordHeader(bytes), header.flags.contains(.file) else { return false }
        return ValueFileReference(header.payload(of: bytes)).name == name
      } ?? false
    }
  }
}
