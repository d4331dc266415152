import Logging
import Platform
import Synchronization

/// Makes commits safe from a power cut, on request and after a required sync failed. Threads: any.
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

  func synchronize() throws(CacheError) {
    try calling("Synchronizing the values of \(database.directoryName)") { () throws(SystemError) in
      try values.synchronizeAll()
    }
    try database.synchronize()
    journal.lock.withLock { journal.didSynchronize() }
  }

  /// Retries a failed sync that writes wait for.
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
