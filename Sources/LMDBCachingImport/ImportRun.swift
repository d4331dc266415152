import Foundation
package import LMDBCaching
import Platform

/// One run from a source into a cache, on one thread. Opens the source before requiring a cache.
package struct ImportRun {
  /// The limits of a batch.
  private static let batchCount = 256
  private static let batchSize = 1 << 20
  /// The longest key of a cache, in bytes.
  private static let greatestKey = 16 << 20
  /// Nanoseconds between progress reports.
  private static let progressInterval: Int64 = 100_000_000

  /// `nil` if there is no cache; nothing is stored then.
  private var cache: LMDBCache?
  private let options: ImportOptions
  private var source: any EntrySource
  private var report = ImportReport()
  private var pending: [ImportedEntry] = []
  private var pendingSize = 0
  private var lastProgress = MonotonicClock.nanoseconds

  /// Opens the source.
  ///
  /// - Parameters:
  ///   - directory: The cache's present or future directory.
  ///   - isUnarchivedByClosure: Whether the cache has a closure for objects that are not keyed archives.
  package init(
    from source: ImportSource, _ options: ImportOptions, intoCacheAt directory: String?, isUnarchivedByClosure: Bool
  ) throws(ImportError) {
    guard options.maximumValueSize >= 0, options.listedRefusals >= 0 else {
      throw ImportError(.invalidArgument, "maximumValueSize and listedRefusals are 0 or more.")
    }
    self.options = options
    self.source = try source.open(
      SourceContext(
        maximumValueSize: min(options.maximumValueSize, 1 << 32 - 1), isUnarchivedByClosure: isUnarchivedByClosure,
        cacheDirectory: directory))
  }

  /// Reads the source to its end or until cancelled. Call once.
  ///
  /// - Parameters:
  ///   - cache: `nil` for an empty, nonexistent one.
  ///   - storing: Whether to store entries.
  package mutating func run(
    into cache: LMDBCache?, storing: Bool, _ progress: (ImportProgress) -> Void,
    _ isCancelled: () -> Bool
  ) throws(ImportError) -> ImportReport {
    self.cache = cache
    report.isDryRun = !storing || cache == nil
    do throws(ImportError) {
      while !isCancelled() {
        guard let step = try source.next() else {
          report.isComplete = true
          break
        }
        try take(step)
        if pending.count >= Self.batchCount || pendingSize >= Self.batchSize { try storePending() }
        tell(progress, isDue: MonotonicClock.nanoseconds - lastProgress >= Self.progressInterval)
      }
      try storePending()
    } catch {
      report.isComplete = false
      throw ending(error)
    }
    tell(progress, isDue: true)
    return report
  }

  /// Stores the entries read before a failure, and adds the report to the error.
  private mutating func ending(_ error: ImportError) -> ImportError {
    var error = error
    if error.code != .cacheFailed {
      do throws(ImportError) { try storePending() } catch let failure { error = failure }
    }
    error.report = report
    return error
  }

  private mutating func tell(_ progress: (ImportProgress) -> Void, isDue: Bool) {
    guard isDue else { return }
    lastProgress = MonotonicClock.nanoseconds
    progress(ImportProgress(total: source.count, report: report))
  }

  private mutating func take(_ step: SourceStep) throws(ImportError) {
    switch step {
    case .remark(let refusal): report.note(refusal, listing: options.listedRefusals)
    case .refused(let refusal):
      report.examined += 1
      refuse(refusal)
    case .entry(let entry):
      report.examined += 1
      try take(entry)
    }
  }

  private mutating func take(_ entry: SourceEntry) throws(ImportError) {
    if let isSelected = options.isSelected, !isSelected(entry.key) {
      report.unselected += 1
      return
    }
    let now = cache?.now ?? RealTimeClock.nanoseconds
    if entry.expires != 0, entry.expires <= now {
      report.expired += 1
      return
    }
    let key = options.keyPrefix + entry.key
    guard key.utf8.count <= Self.greatestKey else {
      return refuse(
        ImportRefusal(
          key: entry.key,
          EntryFailure(.unreadableKey, "The key has \(key.utf8.count) bytes, and one of a cache has at most 16 MiB.")))
    }
    // Checked before reading the value, which may be slow, and again when storing.
    if options.existing == .kept, let cache, try asking({ () throws(CacheError) in try cache.contains(key) }) {
      report.present += 1
      return
    }
    let value: ImportedValue
    do throws(EntryFailure) {
      value = try source.value()
    } catch {
      return refuse(ImportRefusal(key: entry.key, error))
    }
    do throws(CacheError) {
      let imported = try ImportedEntry(
        key: key, value: value, created: entry.created, lastAccess: entry.lastAccess, expires: entry.expires)
      guard imported.valueSize <= options.maximumValueSize else {
        return refuse(
          ImportRefusal(
            key: entry.key,
            EntryFailure(.tooLarge, "The value has \(imported.valueSize) bytes. Raise maximumValueSize.")))
      }
      pending.append(imported)
      pendingSize += imported.size
    } catch {
      let reason: ImportRefusal.Reason = error.code == .invalidArgument ? .tooLarge : .damagedValue
      return refuse(ImportRefusal(key: entry.key, EntryFailure(reason, error.message)))
    }
    if let remainder = entry.remainder {
      report.note(ImportRefusal(key: entry.key, remainder), listing: options.listedRefusals)
    }
  }

  private mutating func refuse(_ refusal: ImportRefusal) {
    report.refused += 1
    report.note(refusal, listing: options.listedRefusals)
  }

  private mutating func storePending() throws(ImportError) {
    let entries = pending
    pending.removeAll(keepingCapacity: true)
    pendingSize = 0
    if entries.isEmpty { return }
    let taken: [Bool]
    if let cache, !report.isDryRun {
      taken = try asking { () throws(CacheError) in
        try cache.take(entries, replacing: options.existing == .replaced)
      }
    } else {
      taken = entries.map { _ in true }
    }
    for (entry, isTaken) in zip(entries, taken) {
      if isTaken {
        report.taken += 1
        report.takenBytes += entry.size
      } else {
        report.present += 1
      }
    }
  }

  private func asking<R>(_ body: () throws(CacheError) -> R) throws(ImportError) -> R {
    do throws(CacheError) { return try body() } catch { throw ImportError(error) }
  }
}
