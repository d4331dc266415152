import Foundation
import LMDBCaching

/// Takes what `export` wrote into a cache, a part at a time.
struct ExchangeImport {
  private static let batchCount = 256
  private static let batchSize = 1 << 20

  private let cache: DiskCache
  private let overwrites: Bool
  private var pending: [EntryRecord] = []
  private var pendingSize = 0
  private(set) var summary = ExchangeSummary()

  init(into cache: DiskCache, overwrites: Bool) {
    self.cache = cache
    self.overwrites = overwrites
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
          summary.isComplete = true
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
    summary.examined += 1
    if record.isOver(at: cache.now) {
      summary.expired += 1
      return
    }
    pending.append(record)
    pendingSize += record.key.utf8.count + record.stored.count
    if pending.count >= Self.batchCount || pendingSize >= Self.batchSize { try storePending() }
  }

  private mutating func storePending() throws {
    let taken = try cache.take(pending, replacing: overwrites)
    for (record, isTaken) in zip(pending, taken) {
      if isTaken {
        summary.taken += 1
        summary.takenBytes += record.key.utf8.count + record.stored.count
      } else {
        summary.present += 1
      }
    }
    pending.removeAll(keepingCapacity: true)
    pendingSize = 0
  }
}
