import Foundation
import LMDB
import Platform
import Synchronization

extension DiskStore {
  /// The store of a directory: the one that this process has open already, or a new one. See ``OpenDirectories``.
  ///
  /// Each opening is ended by one ``release()``.
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
      // Before anything is read or committed: what a dead process wrote was acknowledged.
      try store.peers.takeOverAtOpening(timeout: configuration.disk.lockTimeout.clampedNanoseconds)
      try store.writer.start()
    } catch {
      opened.environment.close()
      throw error
    }
    return store
  }

  /// Ends one opening. The last one commits what waits, ends the writer thread and closes the files.
  ///
  /// - Throws: `.notCommitted` if something could not be committed: it is in the journal. What made a write be with the
  ///   memory tier only, which is gone.
  func release() throws(CacheError) {
    guard OpenDirectories.release(self) else { return }
    let result = outcome { () throws(CacheError) in try finish() }
    // What cannot be removed is left to the system, as all temporary files are.
    if removesDirectory { do { try FileManager.default.removeItem(atPath: directory) } catch {} }
    OpenDirectories.closed(self)
    events.drain()
    try result.get()
  }

  /// Waits for the writer thread's end, then closes the files.
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
    // Whatever becomes of one step, the others are made: this object may live on, and its lock would be a process's.
    let end = outcome { () throws(CacheError) in
      guard failure == nil else { return }
      try endAsLastProcess()
    }
    let activity = "Closing the cache in \(directory)"
    let unlocking = outcome { () throws(CacheError) in
      try calling(activity) { () throws(SystemError) in try place.processLock.unlock() }
    }
    let removal = outcome { () throws(CacheError) in
      // With writes that could not be committed the journal stays: the next to open the directory applies it.
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

  /// What the last process to close does. Not while another one is looking who is there: it may be missed then, and miss
  /// this one. Without it the next opening has more to do.
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

  /// The last process to close a cache that is never synchronized does so now, so that it can be believed later.
  private func endFastSession() throws(CacheError) {
    let isOnlyOwner = try calling("Closing the cache in \(directory)") { () throws(SystemError) in
      try place.processLock.tryOwn()
    }
    guard isOnlyOwner else { return }
    try database.synchronize()
    try calling("Closing the cache in \(directory)") { () throws(SystemError) in
      // The database, its name, the values of all processes: all of it is believed from now on.
      try place.directory.synchronizeVolume()
      try FastSession.end(place.directory)
    }
  }
}
