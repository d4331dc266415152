import Logging
import Platform
import Synchronization

/// Finds out whether this process is the only one that has the cache open, and what those have to finish that were: see
/// ``ExclusiveUse``. On the writer thread, unless it says otherwise.
// Sendable: `isSettled` belongs to the writer thread; the rest is constant or Sendable.
final class ExclusiveKeeper: @unchecked Sendable {
  private let journal: Journal
  private let place: PlaceKeeper
  private let peers: PeerRecovery
  private let events: EventLog

  /// Whether nobody has conditional writes that are not committed, and nobody can begin any.
  private var isSettled = false
  /// Whether a conditional write was a transaction since the last round.
  private let isWanted = Atomic<Bool>(false)
  private let hasLooked = Atomic<Bool>(false)

  init(_ journal: Journal, _ place: PlaceKeeper, _ peers: PeerRecovery, events: EventLog) {
    self.journal = journal
    self.place = place
    self.peers = peers
    self.events = events
  }

  private var folder: JournalFolder { JournalFolder(cache: place.directory) }

  /// Notes that a conditional write takes less time if the process is alone. Any thread.
  ///
  /// - Returns: Whether to look at once; later, the next round does.
  func want() -> Bool {
    isWanted.store(true, ordering: .relaxed)
    return !hasLooked.exchange(true, ordering: .relaxed)
  }

  func makeRound() {
    // Somebody waits for them.
    journal.lock.withLock { if journal.isShared && journal.state.hasConditional { journal.requestCommit() } }
    if isWanted.exchange(false, ordering: .relaxed) { becomeAlone() }
  }

  /// Notes that the process is alone, if it is.
  func becomeAlone() {
    do throws(CacheError) {
      if try !journal.lock.withLock({ () throws(CacheError) in
        try journal.makeFileIfNeeded()
        return journal.isShared
      }) {
        return
      }
      // With the lock of who opens, nothing can be gone over to.
      peers.takeOver()
      guard try place.displacement().isEmpty else { return }
      try calling("Looking for other processes at \(place.directory.path)") { () throws(SystemError) in
        // Whoever has it may be opening the cache.
        guard let opening = try OpeningLock.take(place.directory, within: 0) else { return }
        if try place.processLock.isOnlyProcess(), try isNothingLeft() {
          journal.lock.withLock { journal.restoreExclusiveUse() }
          isSettled = true
        }
        opening.end()
      }
    } catch {
      events.log(
        .debug, "not known whether other processes have the cache open",
        ["directory": "\(place.directory.path)", "error": "\(error)"])
    }
  }

  /// Whether what others wrote is in the database.
  private func isNothingLeft() throws(SystemError) -> Bool {
    guard peers.failure == nil, let own = journal.identifier else { return false }
    return try folder.identifiers() == [own]
  }

  /// Another directory may have other processes.
  func didReopen() { isSettled = false }

  /// Looks whether every conditional write that another process made while it was alone is committed.
  ///
  /// - Returns: The journal of one that has to commit first, or `nil` if there is none.
  func unsettled() throws(CacheError) -> FileIdentity? {
    if isSettled { return nil }
    peers.takeOver()
    if let failure = peers.failure { throw failure }
    let found = try calling("Looking for other processes at \(place.directory.path)") { () throws(SystemError) in
      try folder.unsettled(but: journal.identifier)
    }
    isSettled = found == nil
    return found
  }
}
