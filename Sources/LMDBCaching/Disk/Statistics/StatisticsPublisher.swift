import Foundation
import LMDB
import Logging
import Platform

/// Publishes this process's statistics for a cache about once a second, if they changed. After a failure, such as a
/// full disk, publishing pauses for a minute.
// Unchecked: only the writer thread, or opening before it starts, changes state.
final class StatisticsPublisher: @unchecked Sendable {
  private let current: CurrentDirectory
  private let journal: Journal
  private let database: EntryDatabase
  private let observers: StoreObservers
  private let events: EventLog
  private let opened: ProcessStatistics.Moment
  private let processName = ProcessInfo.processInfo.processName

  private var file: StatisticsFile?
  private var last: ProcessStatistics?
  /// Monotonic times of the next attempt after a failure, and of the next sweep for dead processes' files.
  private var nextAttempt = Int64.min
  private var nextSweep = Int64.min
  private var hasFailed = false

  private static let pauseAfterFailure: Int64 = 60_000_000_000
  private static let sweepInterval: Int64 = 60_000_000_000

  init(
    _ current: CurrentDirectory, _ journal: Journal, _ database: EntryDatabase, _ observers: StoreObservers,
    events: EventLog
  ) {
    self.current = current
    self.journal = journal
    self.database = database
    self.observers = observers
    self.events = events
    opened = Self.now(journal.clock)
  }

  /// Always the system's monotonic clock, which readers compare with their own.
  private static func now(_ clock: CacheClock) -> ProcessStatistics.Moment {
    ProcessStatistics.Moment(wall: clock.now, monotonic: MonotonicClock.nanoseconds)
  }

  // MARK: On the writer thread

  func makeRound() {
    let now = journal.clock.monotonic
    if now < nextAttempt { return }
    do throws(CacheError) {
      try publishIfChanged()
      hasFailed = false
    } catch {
      end()
      last = nil
      nextAttempt = now.addingClamped(Self.pauseAfterFailure)
      if !hasFailed {
        events.log(
          .info, "cache statistics not published", ["directory": "\(database.directoryName)", "error": "\(error)"])
      }
      hasFailed = true
    }
  }

  /// The published file may have been deleted with the directory.
  func didReopen() { last = nil }

  func end() {
    guard let file = file.take() else { return }
    // A file left behind has no owner, so the next sweep removes it.
    do throws(SystemError) { try file.remove() } catch {}
  }

  private func publishIfChanged() throws(CacheError) {
    var statistics = composed()
    if let last {
      // Other processes change these too, so they are measured only when something else changed.
      statistics.diskCount = last.diskCount
      statistics.diskCost = last.diskCost
      statistics.transaction = last.transaction
      statistics.published = last.published
      if statistics == last { return }
    }
    do throws(CacheError) { try measure(&statistics) } catch {
      // A failing database leaves them out; the rest is still published.
    }
    statistics.published = Self.now(journal.clock)
    try calling("Publishing the statistics of \(database.directoryName)") { () throws(SystemError) in
      try publish(statistics)
    }
    last = statistics
  }

  private func publish(_ statistics: ProcessStatistics) throws(SystemError) {
    let folder = StatisticsFolder(cache: current.value)
    if try file?.isDeleted ?? true { file = try folder.makeFile() }
    let now = journal.clock.monotonic
    if now >= nextSweep {
      nextSweep = now.addingClamped(Self.sweepInterval)
      try folder.sweep(except: file?.identifier)
    }
    try file?.publish(statistics)
  }

  // MARK: What is published

  /// The statistics that this process has without reading the database.
  private func composed() -> ProcessStatistics {
    var statistics = ProcessStatistics()
    statistics.process = getpid()
    statistics.name = processName
    statistics.opened = opened
    statistics.statistics = observers.statistics
    database.counters.add(to: &statistics.statistics)
    journal.writes.add(to: &statistics.statistics)
    statistics.latencies = database.counters.latencies.latencies
    (statistics.memoryCount, statistics.memoryCost) = observers.size
    (statistics.journalUsed, statistics.journalSize, statistics.isHealthy) = journal.fill
    return statistics
  }

  private func measure(_ statistics: inout ProcessStatistics) throws(CacheError) {
    let (metadata, transaction) = try database.accessing("Reading the counts of \(database.directoryName)") {
      () throws(LMDBError) in
      try database.environment.withReadTransaction { (txn) throws(LMDBError) in
        (try EntryDatabase.metadata(txn), txn.id)
      }
    }
    statistics.diskCount = metadata.count
    statistics.diskCost = metadata.totalCost
    statistics.transaction = Int(clamping: transaction)
  }
}
