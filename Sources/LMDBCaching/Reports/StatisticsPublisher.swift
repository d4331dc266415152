import Foundation
import LMDB
import Logging
import Platform

/// Publishes this process's statistics for a cache about once a second, if they changed. After a failure, such as a
/// full disk, publishing pauses for a minute.
// Unchecked: only the writer thread, or opening before it starts, changes state.
final class StatisticsPublisher: StorePart, @unchecked Sendable {
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

  init(_ clock: CacheClock) { opened = Self.now(clock) }

  /// Always the system's monotonic clock, which readers compare with their own.
  private static func now(_ clock: CacheClock) -> ProcessStatistics.Moment {
    ProcessStatistics.Moment(wall: clock.now, monotonic: MonotonicClock.nanoseconds)
  }

  // MARK: On the writer thread

  func makeRound() {
    let now = clock.monotonic
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
    statistics.published = Self.now(clock)
    try calling("Publishing the statistics of \(database.directoryName)") { try publish(statistics) }
    last = statistics
  }

  private func publish(_ statistics: ProcessStatistics) throws(SystemError) {
    let folder = StatisticsFolder(cache: store.place.directory)
    if try file?.isDeleted ?? true { file = try folder.makeFile() }
    let now = clock.monotonic
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
    statistics.statistics = store.observers.statistics
    database.counters.add(to: &statistics.statistics)
    journal.writes.add(to: &statistics.statistics)
    statistics.latencies = database.counters.latencies.latencies
    (statistics.memoryCount, statistics.memoryCost) = store.observers.size
    (statistics.journalUsed, statistics.journalSize, statistics.isHealthy) = journal.fill
    return statistics
  }

  private func measure(_ statistics: inout ProcessStatistics) throws(CacheError) {
    let activity = "Reading the counts of \(database.directoryName)"
    let (metadata, transaction) = try database.reading(activity) { (txn) throws(LMDBError) in
      (try EntryDatabase.metadata(txn), txn.id)
    }
    statistics.diskCount = metadata.count
    statistics.diskCost = metadata.totalCost
    statistics.transaction = Int(clamping: transaction)
  }
}

/// The folder in which each process that has a cache open publishes statistics. It may be removed at any time. Foreign
/// files in it are left alone.
struct StatisticsFolder {
  static let name = "statistics"
  private static let names = NumberedName(suffix: ".live")
  static let mostFiles = 1_024
  /// The number of attempts to read a block that is being written.
  private static let attempts = 8
  /// Nanoseconds for which a reader may lock a new file.
  private static let lockLimit: Int64 = 100_000_000

  let cache: Directory

  static func name(of identifier: UInt64) -> String { names.name(identifier) }

  static func identifier(of name: String) -> UInt64? { names.number(of: name) }

  /// - Throws: If the folder's name is taken by a link or another kind of file.
  private func folder() throws(SystemError) -> Directory? { try cache.subdirectory(Self.name) }

  // MARK: The own file

  func makeFile() throws(SystemError) -> StatisticsFile {
    while true {
      let folder = try cache.makeSubdirectory(Self.name)
      let identifier = UInt64.random(in: .min ... .max)
      let name = Self.name(of: identifier)
      let lock = FileLock(try folder.create(name, .exclusively))
      do throws(SystemError) {
        // Before the lock, another process may have taken it for a dead process's and removed it.
        if try lock.lock(.exclusive, within: Self.lockLimit), try lock.file.isStill(name, in: folder) {
          return StatisticsFile(lock, identifier, in: folder)
        }
      } catch {
        try folder.remove(name)
        throw error
      }
      try folder.remove(name)
    }
  }

  /// Removes the files of dead processes.
  func sweep(except own: UInt64?) throws(SystemError) {
    guard let folder = try folder() else { return }
    for name in try folder.names() {
      guard let identifier = Self.identifier(of: name), identifier != own else { continue }
      // Files that this process cannot open or remove are left to others.
      do throws(SystemError) { try Self.removeIfOver(name, in: folder) } catch { continue }
    }
  }

  private static func removeIfOver(_ name: String, in folder: Directory) throws(SystemError) {
    guard try folder.status(of: name)?.kind == .regular, let file = try folder.open(name, requiresOneName: true) else {
      return
    }
    let lock = FileLock(file)
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder), try isOurs(lock.file) else { return }
    try folder.remove(name)
  }

  /// Whether the file has the right header, or none yet because its owner died or the power failed.
  private static func isOurs(_ file: borrowing File) throws(SystemError) -> Bool {
    var beginning = [UInt8](repeating: 0, count: min(8, try file.status().size))
    guard try file.read(&beginning) else { return false }
    return StatisticsBlock.isOurs(beginning) || beginning.allSatisfy { $0 == 0 }
  }

  // MARK: What others publish

  enum Found {
    case statistics(ProcessStatistics)
    /// The process lives, but its file is unreadable or of another version.
    case unreadable
  }

  /// The latest statistics of all live processes. Changes nothing.
  func read() throws(SystemError) -> [Found] {
    guard let folder = try folder() else { return [] }
    var found: [Found] = []
    for name in try folder.names().sorted() {
      guard let identifier = Self.identifier(of: name) else { continue }
      if found.count == Self.mostFiles { break }
      do throws(SystemError) {
        if let one = try Self.read(identifier, name, in: folder) { found.append(one) }
      } catch {
        // Another user's file, or a failing device, must not hide the others. Links and the like are ignored.
        if error.finding == nil { found.append(.unreadable) }
      }
    }
    return found
  }

  /// Returns `nil` if the process is gone.
  private static func read(_ identifier: UInt64, _ name: String, in folder: Directory) throws(SystemError) -> Found? {
    guard let file = try folder.open(name, requiresOneName: true) else { return nil }
    let lock = FileLock(file)
    // A shared lock, so that concurrent readers do not take each other for the owner.
    if try lock.tryLock(.shared) { return nil }
    for _ in 0..<attempts {
      var bytes = [UInt8](repeating: 0, count: StatisticsBlock.size)
      guard try lock.file.read(&bytes) else {
        // Nothing was published yet.
        return try lock.file.status().size == 0 ? nil : .unreadable
      }
      if let block = StatisticsBlock.read(bytes, identifier: identifier) { return .statistics(block.statistics) }
      sched_yield()
    }
    return .unreadable
  }
}
