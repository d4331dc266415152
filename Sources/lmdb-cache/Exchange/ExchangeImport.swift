import Foundation
import LMDBCaching
import LMDBCachingImport

/// Takes what `export` wrote into a cache, a part at a time.
struct ExchangeImport {
  private static let batchCount = 256
  private static let batchSize = 1 << 20

  /// `nil`: nothing is there, and nothing is stored.
  private let cache: DiskCache?
  private let overwrites: Bool
  private var pending: [EntryRecord] = []
  private var pendingSize = 0
  private(set) var report = ImportReport()

  init(into cache: DiskCache?, isDryRun: Bool, overwrites: Bool) {
    self.cache = cache
    self.overwrites = overwrites
    report.isDryRun = isDryRun
  }

  /// Reads to the end, or until it is interrupted. What was read before a failure is stored.
  mutating func run(
    _ reader: ExchangeReader, prefix: String, progress: inout Progress, _ isInterrupted: () -> Bool
  ) throws {
    do {
      while !isInterrupted() {
        let record = try reader.next { (fields) throws(ExchangeProblem) in
          try ExchangeEntry.record(fields, prefix: prefix)
        }
        guard let record else {
          report.isComplete = true
          break
        }
        try take(record)
        progress.advance()
      }
    } catch {
      try storePending()
      throw error
    }
    try storePending()
  }

  private mutating func take(_ record: EntryRecord) throws {
    report.examined += 1
    if record.isOver(at: cache?.wallClock ?? CacheClock.system.now) {
      report.expired += 1
      return
    }
    pending.append(record)
    pendingSize += record.size
    if pending.count >= Self.batchCount || pendingSize >= Self.batchSize { try storePending() }
  }

  private mutating func storePending() throws {
    let records = pending
    pending.removeAll(keepingCapacity: true)
    pendingSize = 0
    for (record, isTaken) in zip(records, try isTaken(records)) {
      if isTaken {
        report.taken += 1
        report.takenBytes += record.size
      } else {
        report.present += 1
      }
    }
  }

  private func isTaken(_ records: [EntryRecord]) throws -> [Bool] {
    guard let cache else { return records.map { _ in true } }
    guard report.isDryRun else { return try cache.take(records, replacing: overwrites) }
    return try records.map { try overwrites || !cache.isPresent($0.key, nil) }
  }
}
