import Logging
import Platform
import Synchronization

/// Makes what is committed safe from a power cut: when somebody asks, and when it had to be and could not.
///
/// Threads: any.
final class Synchronizer: Sendable {
  private let database: EntryDatabase
  private let journal: Journal
  private let values: ValueLog
  private let events: EventLog

  init(_ database: EntryDatabase, _ journal: Journal, _ values: ValueLog, events: EventLog) {
    self.database = database
    self.journal = journal
    self.values = values
    self.events = events
  }

  /// Waits until everything committed is on the disk.
  func synchronize() throws(CacheError) {
    try calling("Synchronizing the values of \(database.directoryName)") { () throws(SystemError) in
      try values.synchronizeAll()
    }
    try database.synchronize()
    journal.lock.withLock { journal.didSynchronize() }
  }

  /// The same if writes wait for it.
  func synchronizeIfAwaited() {
    guard journal.lock.withLock({ journal.state.unsynchronized != nil }) else { return }
    do throws(CacheError) {
      try synchronize()
    } catch {
      events.log(
        .warning, "cache not synchronized", ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
  }
}
