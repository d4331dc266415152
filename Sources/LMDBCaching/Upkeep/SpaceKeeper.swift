import LMDB
import Logging
import Platform
import Synchronization

/// Returns free space in the database's file, whose free pages LMDB keeps forever. Writer thread.
///
/// If more than half of the file, and more than ``leastFree``, is free for several rounds in a row, holes are punched
/// for the free pages, in short parts.
// Sendable: only the writer thread changes state.
final class SpaceKeeper: StorePart, @unchecked Sendable {
  /// Bytes; less free space is not worth the work.
  private static let leastFree = 4 << 20
  /// Consecutive rounds that must find too much free space, because it is often reused soon.
  private static let leastLooks = 2
  /// Rounds to rest after a pass, and after a fruitless one, when a snapshot may hold the free pages.
  private static let (rest, longRest) = (10, 60)
  /// Nanoseconds per part; commits wait for it, reads do not.
  private static let limitOfPart: Int64 = 20_000_000
  /// The maximum number of parts per round, between which commits go first.
  private static let partsOfRound = 20

  /// Whether the file system cannot punch holes.
  private var isUnsupported = false
  private var looks = 0
  private var restingRounds = 0
  private var allocatedBefore = 0
  /// The next page during a pass.
  private var next: UInt64?

  func makeRound() {
    if isUnsupported || database.isOutOfService.load(ordering: .acquiring) { return }
    do throws(CacheError) {
      if next == nil {
        if restingRounds > 0 { return restingRounds -= 1 }
        guard try isWorthIt() else { return looks = 0 }
        looks += 1
        if looks < Self.leastLooks { return }
        try beginPass()
      }
      for _ in 0..<Self.partsOfRound {
        try punch(from: next ?? 0)
        if next == nil { break }
        writer.letCommitsGoFirst()
      }
    } catch {
      // A later round retries. The next commit reports any disk error.
      (next, looks, restingRounds) = (nil, 0, Self.rest)
    }
  }

  /// Returns all free space at once, however little.
  func sweep() throws(CacheError) {
    if isUnsupported || database.isOutOfService.load(ordering: .acquiring) { return }
    do throws(CacheError) {
      try beginPass()
      while let first = next { try punch(from: first) }
    } catch {
      next = nil
      if !isUnsupported { throw error }
    }
  }

  private func beginPass() throws(CacheError) {
    // LMDB keeps pages freed by the last commit for readers of the state before it; two more commits release them.
    for _ in 0..<2 { try database.transact(activity) { _ in } }
    allocatedBefore = try store.allocatedByDatabase()
    next = 0
  }

  private func punch(from first: UInt64) throws(CacheError) {
    store.marker.willCommit()
    do throws(LMDBError) {
      next = try database.environment.punchFreePages(from: first, within: Self.limitOfPart) { () throws(LMDBError) in
        do throws(CacheError) { return try store.place.areFilesInPlace() } catch { return false }
      }.next
    } catch {
      isUnsupported = error.code == .system(EOPNOTSUPP)
      throw database.failure(error, during: activity)
    }
    if next != nil { return }
    let given = try allocatedBefore - store.allocatedByDatabase()
    looks = 0
    restingRounds = given < Self.leastFree ? Self.longRest : Self.rest
    events.log(
      .debug, "cache space given back", ["directory": "\(database.directoryName)", "bytes": "\(max(0, given))"])
  }

  /// Whether more than half of the file's allocated space is free.
  private func isWorthIt() throws(CacheError) -> Bool {
    let used = try database.usedBytes()
    return try store.allocatedByDatabase() - used > max(Self.leastFree, used)
  }

  private var activity: String { "Giving back space of \(database.directoryName)" }
}

/// Determines whether this process alone has the cache open, and what earlier lone processes must finish
/// (``ExclusiveUse``). Writer thread, unless noted.
// Sendable: only the writer thread uses `isSettled`; the rest is constant or Sendable.
final class ExclusiveKeeper: StorePart, @unchecked Sendable {
  /// Whether no process has uncommitted conditional writes, or can begin any.
  private var isSettled = false
  /// Whether a conditional write was a transaction since the last round.
  private let isWanted = Atomic<Bool>(false)
  private let hasLooked = Atomic<Bool>(false)

  private var place: PlaceKeeper { store.place }
  private var peers: PeerRecovery { store.peers }
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
      let isShared = journal.lock.withLock {
        journal.makeFileIfNeeded()
        return journal.isShared
      }
      if !isShared { return }
      // Files cannot be switched under the opening lock.
      peers.takeOver()
      guard try place.displacement().isEmpty else { return }
      try calling("Looking for other processes at \(place.directory.path)") {
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
    if peers.failure != nil { return false }
    return try folder.identifiers() == [journal.identifier]
  }

  func didReopen() { isSettled = false }

  /// Returns a journal whose conditional writes, by a formerly lone process, must be committed first, or `nil`.
  func unsettled() throws(CacheError) -> FileIdentity? {
    if isSettled { return nil }
    peers.takeOver()
    if let failure = peers.failure { throw failure }
    let found = try calling("Looking for other processes at \(place.directory.path)") {
      try folder.unsettled(but: journal.identifier)
    }
    isSettled = found == nil
    return found
  }
}
