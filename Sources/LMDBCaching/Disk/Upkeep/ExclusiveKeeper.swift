import Logging
import Platform
import Synchronization

/// Determines whether this process alone has the cache open, and what earlier lone processes must finish
/// (``ExclusiveUse``). Writer thread, unless noted.
// Sendable: only the writer thread uses `isSettled`; the rest is constant or Sendable.
final class ExclusiveKeeper: @unchecked Sendable {
  private let journal: Journal
  private let place: PlaceKeeper
  private let peers: PeerRecovery
  private let events: EventLog

  /// Whether no process has uncommitted conditional writes, or can begin any.
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

  /// Notes that exclusive use would speed up conditional writes. Returns whether to check at once. Any thread.
  func want() -> Bool {
    isWanted.store(true, ordering: .relaxed)
    return !hasLooked.exchange(true, ordering: .relaxed)
  }

  func makeRound() {
    // Another process waits for them.
    journal.lock.withLock { if journal.isShared && journal.state.hasConditional { journal.requestCommit() } }
    if isWanted.exchange(false, ordering: .relaxed) { becomeAlone() }
  }

  /// Restores exclusive use if this process is alone.
  func becomeAlone() {
    do throws(CacheError) {
      if try !journal.lock.withLock({ () throws(CacheError) in
        try journal.makeFileIfNeeded()
        return journal.isShared
      }) {
        return
      }
      // Files cannot be switched under the opening lock.
      peers.takeOver()
      guard try place.displacement().isEmpty else { return }
      try calling("Looking for other processes at \(place.directory.path)") { () throws(SystemError) in
        // Its holder may be opening the cache.
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

  /// Whether other processes' writes are all in the database.
  private func isNothingLeft() throws(SystemError) -> Bool {
    guard peers.failure == nil, let own = journal.identifier else { return false }
    return try folder.identifiers() == [own]
  }

  func didReopen() { isSettled = false }

  /// Returns a journal whose conditional writes, by a formerly lone process, must be committed first, or `nil`.
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
