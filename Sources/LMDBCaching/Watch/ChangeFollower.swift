import LMDB
import Logging
import Platform
import Synchronization

/// Reports other processes' commits to observers. Runs on the writer thread, so this process commits nothing while a
/// part of the database is compared with an observer's knowledge.
final class ChangeFollower: Sendable {
  /// The number of entries per read transaction.
  private static let partLength = 2_000

  private let feed: ChangeFeed
  private let reader: RecordReader
  private let writer: Writer
  private let events: EventLog
  private let clock: CacheClock

  init(_ feed: ChangeFeed, _ reader: RecordReader, _ writer: Writer, events: EventLog) {
    self.feed = feed
    self.reader = reader
    self.writer = writer
    self.events = events
    clock = reader.journal.clock
  }

  private var journal: Journal { reader.journal }
  private var database: EntryDatabase { reader.database }

  /// Starts observing. Every change after this returns is reported.
  func observe(withPrefix prefix: String, isOfOneKey: Bool, mailbox: ChangeMailbox, trackingLimit: Int) -> ChangeWatch {
    let watch = ChangeWatch(
      prefix: prefix, isOfOneKey: isOfOneKey, mailbox: mailbox, position: database.foreignPosition,
      untoldRemovals: feed.untoldRemovals, limit: trackingLimit)
    feed.add(watch) {
      clock.repeating(every: ChangeFeed.interval) { [weak self] in self?.followIfNeeded() }
    }
    followIfNeeded()
    return watch
  }

  /// Schedules an update on the writer thread, if needed. Any thread.
  func followIfNeeded() {
    guard feed.isObserved.load(ordering: .relaxed),
      database.foreignPosition > feed.followedTransaction.load(ordering: .acquiring)
        || feed.followedTransaction.load(ordering: .acquiring) == 0,
      clock.monotonic >= feed.nextFollow.load(ordering: .relaxed),
      !feed.isFollowQueued.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    writer.enqueue { [self] in follow() }
  }

  private func follow() {
    feed.isFollowQueued.store(false, ordering: .releasing)
    let start = clock.monotonic
    var pause: Int64
    do throws(CacheError) {
      // An observer's initial entries must be in the database.
      var isAnyNew = false
      feed.deliver { watches in
        isAnyNew = watches.contains(where: \.isFirstScan)
        return []
      }
      if isAnyNew { writer.commitWaiting() }
      // An observer added during the update resets this to 0, which the exchange preserves.
      feed.followedTransaction.store(.max, ordering: .releasing)
      var followed = UInt64.max
      for watch in feed.watches { followed = min(followed, try follow(watch)) }
      _ = feed.followedTransaction.compareExchange(
        expected: .max, desired: followed == .max ? 0 : followed, ordering: .acquiringAndReleasing)
      pause = (clock.monotonic - start).multipliedClamped(by: 10)
    } catch {
      feed.followedTransaction.store(0, ordering: .releasing)
      pause = 1_000_000_000
      if error.code != .closed {
        events.log(
          .warning, "cache changes not followed", ["directory": "\(database.directoryName)", "error": "\(error)"])
      }
    }
    feed.nextFollow.store(clock.monotonic.addingClamped(pause), ordering: .relaxed)
  }

  /// Updates one observer; returns the transaction it was updated to.
  private func follow(_ watch: ChangeWatch) throws(CacheError) -> UInt64 {
    var position: EntryPlace?
    var transaction: UInt64?
    while true {
      let part = try part(of: watch, after: position)
      let isFirst = transaction == nil
      transaction = transaction ?? part.transaction
      feed.deliver { _ in
        let beginning = isFirst ? watch.beginScan(clearStamp: part.clearStamp) : []
        return beginning
          + part.records.compactMap { watch.meet($0.key, stamp: $0.stamp, pending: pendingWrite(of: $0.key)) }
      }
      guard let next = part.next else { break }
      position = next
      try pauseForCommits()
    }
    var unmet: [(key: String, stamp: UInt64)] = []
    feed.deliver { _ in
      unmet = watch.unmet.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      return []
    }
    while !unmet.isEmpty {
      let part = unmet.prefix(Self.partLength)
      feed.deliver { _ in
        part.compactMap { key, stamp in isGone(key, stamp) ? watch.noteRemoved(key) : nil }
      }
      unmet.removeFirst(part.count)
      try pauseForCommits()
    }
    var isComplete = false
    feed.deliver { _ in
      let delivery = watch.endScan(position: database.foreignPosition, untoldRemovals: feed.untoldRemovals)
      isComplete = !watch.isFirstScan
      return [delivery].compactMap(\.self)
    }
    return isComplete ? transaction ?? 0 : 0
  }

  /// Whether an unmet key is gone, not written during the scan. A known entry's expiry is reported elsewhere.
  private func isGone(_ key: String, _ stamp: UInt64) -> Bool {
    CacheKey.with(key) { key in
      do throws(CacheError) {
        guard let header = try reader.header(key)?.header else { return true }
        return header.isExpired(at: clock.now) && header.stamp != stamp
      } catch {
        return false
      }
    }
  }

  private func pauseForCommits() throws(CacheError) {
    writer.letCommitsGoFirst()
    if writer.isClosing { throw .closed }
  }

  private func pendingWrite(of key: String) -> JournalSegment.Lookup {
    guard journal.hasPending.load(ordering: .acquiring) else { return .unknown }
    return CacheKey.with(key) { key in
      journal.lock.withLock { journal.lookup(key, position: database.foreignPosition) }
    }
  }

  private struct FollowPart {
    var transaction: UInt64
    var clearStamp: UInt64
    var records: [(key: String, stamp: UInt64)] = []
    var next: EntryPlace?
  }

  private func part(of watch: ChangeWatch, after position: EntryPlace?) throws(CacheError) -> FollowPart {
    try database.reading("Following the changes of \(database.directoryName)") { (txn) throws(LMDBError) in
      var part = FollowPart(
        transaction: database.environment.position(of: txn), clearStamp: try EntryDatabase.metadata(txn).clearStamp)
      if watch.isOfOneKey {
        let header = try CacheKey.with(watch.prefix) { (key) throws(LMDBError) in
          try database.liveHeader(key, in: txn)
        }
        if case .success(let header?) = header, !header.isExpired(at: clock.now) {
          part.records.append((watch.prefix, header.stamp))
        }
      } else {
        part.next = try database.visitPage(
          withPrefix: watch.prefix, after: position, length: Self.partLength, at: clock.now, txn
        ) { found, header in part.records.append((String(utf8: found.key), header.stamp)) }
      }
      return part
    }
  }
}

/// The observers of a store, and the reports of this process's changes to them, made once every read sees the change.
final class ChangeFeed: Sendable {
  /// How often to check for other processes' commits, while there is an observer.
  static let interval = Duration.milliseconds(50)

  let isObserved = Atomic<Bool>(false)
  let isFollowQueued = Atomic<Bool>(false)
  /// The transaction up to which every observer has been updated, or 0.
  let followedTransaction = Atomic<UInt64>(0)
  /// The monotonic time of the next permitted update.
  let nextFollow = Atomic<Int64>(.min)
  /// Counts this process's removals that were not reported: by tag, or while nothing observed. It grows once reads find
  /// the entries gone, so a caller that notes it before it reads such entries will see it change.
  private let removals = Atomic<UInt64>(0)

  private struct State {
    var watches: [ChangeWatch] = []
    var timer: CacheTimer?
  }

  private let state = Mutex(State())
  private let reader: RecordReader
  private let clock: CacheClock

  init(_ reader: RecordReader) {
    self.reader = reader
    clock = reader.journal.clock
  }

  /// - Parameter startTimer: Starts the checks for other processes' commits.
  func add(_ watch: ChangeWatch, startTimer: () -> CacheTimer) {
    state.withLock { state in
      state.watches.append(watch)
      if state.timer == nil { state.timer = startTimer() }
      followedTransaction.store(0, ordering: .releasing)
      nextFollow.store(.min, ordering: .relaxed)
      isObserved.store(true, ordering: .sequentiallyConsistent)
    }
  }

  func remove(_ watch: ChangeWatch) {
    let timer = state.withLock { state -> CacheTimer? in
      state.watches.removeAll { $0 === watch }
      guard state.watches.isEmpty else { return nil }
      isObserved.store(false, ordering: .sequentiallyConsistent)
      return state.timer.take()
    }
    timer?.cancel()
  }

  var watches: [ChangeWatch] { state.withLock { $0.watches } }

  var untoldRemovals: UInt64 { removals.load(ordering: .acquiring) }

  /// Call when every read finds the entries gone.
  func noteUntoldRemoval() { removals.wrappingAdd(1, ordering: .releasing) }

  /// Rescans the database: this process's commit may have removed other processes' later writes.
  func followAgain() { followedTransaction.store(0, ordering: .releasing) }

  /// Reports missed changes, because the observers' knowledge of the replaced files is unknown.
  func tellMissed() {
    followAgain()
    deliver { $0.compactMap { $0.mailbox.push(.missed) } }
  }

  /// Calls `body` with the observers, serialized, then wakes the receivers of the returned deliveries.
  func deliver(_ body: ([ChangeWatch]) -> [ChangeMailbox.Delivery]) {
    let deliveries = state.withLock { body($0.watches) }
    for delivery in deliveries { delivery() }
  }

  // MARK: This process's changes

  @inline(__always)
  func noteChange(_ key: CacheKey, _ stamp: UInt64) {
    if isObserved.load(ordering: .relaxed) { note(key, stamp, .write) }
  }

  func noteRemoval(_ key: String, _ stamp: UInt64, _ cause: ChangeCause) {
    if isObserved.load(ordering: .relaxed) { CacheKey.with(key) { note($0, stamp, cause) } }
  }

  /// - Parameters:
  ///   - stamp: Removes entries written before it.
  ///   - lastStamp: An upper bound of the removal's own stamp.
  func noteRemoval(ofAll prefix: String, stamp: UInt64, lastStamp: UInt64) {
    guard isObserved.load(ordering: .relaxed) else { return }
    deliver { watches in
      watches.filter { $0.concerns(removalOf: prefix) }.flatMap {
        $0.noteRemoval(ofAll: prefix, stamp: stamp, clearStamp: prefix.isEmpty ? lastStamp : 0)
      }
    }
  }

  /// Threads that change one key arrive in any order. Each reports the present state, so the last one is right.
  @inline(never)
  private func note(_ key: CacheKey, _ stamp: UInt64, _ cause: ChangeCause) {
    deliver { watches in
      var current: UInt64??
      return watches.compactMap { watch in
        guard watch.concerns(key.string) else { return nil }
        let found = current ?? visibleStamp(key, written: cause == .write ? stamp : nil)
        current = .some(found)
        return watch.note(key.string, stamp: found, cause.change(of: key.string, exists: found != nil))
      }
    }
  }

  /// The stamp that a read finds under the key, or `nil` without an entry.
  ///
  /// - Parameter stamp: The written stamp, for a value that cannot be read.
  private func visibleStamp(_ key: CacheKey, written stamp: UInt64?) -> UInt64? {
    do throws(CacheError) {
      guard let header = try reader.header(key)?.header else { return nil }
      return header.isExpired(at: clock.now) ? nil : header.stamp
    } catch {
      return stamp
    }
  }
}
