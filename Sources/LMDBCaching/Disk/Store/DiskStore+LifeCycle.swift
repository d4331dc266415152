import Foundation
import LMDB
import Platform
import Synchronization

extension DiskStore {
  /// Returns this process's open store for the directory, or opens one. Balance each call with ``release()``.
  static func open(
    directory path: String, configuration: CacheConfiguration, databaseKey: DatabaseKey = DatabaseKey()
  ) throws(CacheError) -> DiskStore {
    try configuration.validate()
    return try OpenDirectories.open(
      { () throws(CacheError) in
        try CacheDirectory(path: path, allowsOtherUsers: configuration.disk.allowsOtherUsers)
      },
      share: { (store) throws(CacheError) in try store.share(configuration) },
      make: { (cache) throws(CacheError) in try make(cache, configuration, databaseKey) })
  }

  private static func make(
    _ cache: CacheDirectory, _ configuration: CacheConfiguration, _ databaseKey: DatabaseKey
  ) throws(CacheError) -> DiskStore {
    let events = EventLog(configuration.logger)
    let opened = try StoreOpening(cache: cache, configuration: configuration, events: events).run()
    let store = DiskStore(opened, configuration, databaseKey, events: events)
    do throws(CacheError) {
      // Before any read or commit: a dead process's writes were acknowledged.
      try store.peers.takeOverAtOpening(timeout: configuration.disk.lockTimeout.clampedNanoseconds)
      try store.writer.start()
    } catch {
      opened.environment.close()
      throw error
    }
    return store
  }

  /// Ends one opening. The last one commits pending writes, ends the writer thread and closes the files.
  ///
  /// - Throws: `.notCommitted` if a commit failed: the journal keeps the writes, but values only in memory are lost.
  func release() throws(CacheError) {
    guard OpenDirectories.release(self) else { return }
    let result = outcome { () throws(CacheError) in try finish() }
    // The system cleans up leftovers, as with all temporary files.
    if removesDirectory { do { try FileManager.default.removeItem(atPath: directory) } catch {} }
    OpenDirectories.closed(self)
    events.drain()
    try result.get()
  }

  private func finish() throws(CacheError) {
    let failure = writer.close()
    maintenance.recordLastMetrics()
    for observer in observers.removeAll() { observer.storeWillClose() }
    let location = journal.end()
    values.close()
    defer {
      environment.close()
      place.close()
    }
    // Every step runs even if an earlier one fails: this object may outlive its closing, with the process lock held.
    let end = outcome { () throws(CacheError) in
      guard failure == nil else { return }
      try endAsLastProcess()
    }
    let activity = "Closing the cache in \(directory)"
    let unlocking = outcome { () throws(CacheError) in
      try calling(activity) { () throws(SystemError) in try place.processLock.unlock() }
    }
    let removal = outcome { () throws(CacheError) in
      // If a commit failed, the journal stays for the next opening to apply.
      guard let location, failure == nil else { return }
      try calling(activity) { () throws(SystemError) in
        try JournalFolder(cache: place.directory).remove(location.identifier, location.identity)
      }
    }
    if let failure {
      throw CacheError(
        .notCommitted,
        "The cache in \(directory) was closed with writes that could not be committed; they are in its journal and "
          + "are applied when it is opened again.", underlying: failure.error)
    }
    if let failure = journal.takeUnrecorded("is lost") { throw failure }
    for step in [end, unlocking, removal] { try step.get() }
  }

  /// Finishes as the last process. Takes the opening lock, so that no other process checks for users during this. If
  /// the lock is not free, the next opening just has more to do.
  private func endAsLastProcess() throws(CacheError) {
    let opening = try calling("Closing the cache in \(directory)") { () throws(SystemError) in
      try OpeningLock.take(place.directory, within: Self.longestWaitAtEnd)
    }
    guard let opening else { return }
    if durability == .fast { try endFastSession() }
    marker.markCleanExit()
    opening.end()
  }

  private static let longestWaitAtEnd: Int64 = 1_000_000_000

  /// Syncs a `.fast` cache as its last process, so that the next opening can trust it.
  private func endFastSession() throws(CacheError) {
    let isOnlyOwner = try calling("Closing the cache in \(directory)") { () throws(SystemError) in
      try place.processLock.tryOwn()
    }
    guard isOnlyOwner else { return }
    try database.synchronize()
    try calling("Closing the cache in \(directory)") { () throws(SystemError) in
      // Everything must be on disk before the mark goes: the database, its name, all processes' values.
      try place.directory.synchronizeVolume()
      try FastSession.end(place.directory)
    }
  }
}
