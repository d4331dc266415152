import Platform
import Synchronization

/// Counters of one cache since this process opened it, and the present use of its files. Reading them blocks no longer
/// than an operation; measuring the files takes system calls, one for each segment of the value log.
public struct CacheStatistics: Sendable, Equatable {
  /// Reads answered by the memory tier.
  public var memoryHits = 0
  /// Reads answered by the disk tier, including the journal.
  public var diskHits = 0
  /// Reads of a missing or expired entry. One that then loaded a value, or waited for another load, counts once.
  public var misses = 0
  /// Values stored by this process: by sets, batches and loads.
  public var sets = 0
  /// Removals by this process; each counts once, however many entries it removed.
  public var removals = 0
  /// Completed runs of loading closures.
  public var loads = 0
  /// Loads that threw, including cancelled ones.
  public var failedLoads = 0
  /// The total duration of all loads.
  public var loadTime = Duration.zero
  /// Values served after their expiry, during a load or after its failure. They count as misses too.
  public var staleServed = 0
  /// Loads started in the background.
  public var refreshes = 0
  /// Entries that the memory tier dropped to keep its limits.
  public var memoryEvictions = 0
  /// Entries that the disk tier dropped to keep its limits.
  public var diskEvictions = 0
  /// Entries dropped since they had expired, by either tier.
  public var expirations = 0
  /// Transactions committed to the database by this process.
  public var commits = 0
  /// Writes in those transactions.
  public var committedWrites = 0
  /// Commits that failed.
  public var failedCommits = 0
  /// Records whose checksum did not match.
  public var corruptedRecords = 0
  /// Writes replayed from journals of processes that died.
  public var replayedWrites = 0
  /// How often the cache reopened its files, because they were deleted or replaced, or after an I/O error in LMDB.
  public var reopenings = 0

  /// 1 if this opening set damaged files aside; see ``LMDBCache/recovery``.
  public var recoveries = 0

  /// Bytes on the disk used by entries, with their indexes. 0 if unknown, in a closed cache for example.
  public var liveBytes = 0
  /// Bytes of removed entries in the value log. They are reclaimed soon: see ``DiskTier/freeSpaceLimit``.
  public var deadBytes = 0
  /// Bytes on the disk reserved for new entries, without the journal.
  public var freeBytes = 0

  package init() {}

  /// Hits of either tier by reads; 0 before the first read.
  public var hitRatio: Double {
    let hits = Double(memoryHits) + Double(diskHits)
    let reads = hits + Double(misses)
    return reads == 0 ? 0 : hits / reads
  }
}

extension CacheStatistics {
  /// The monotonic counters except ``loadTime``, in the published order: new ones come last.
  static let counters: [any WritableKeyPath<CacheStatistics, Int> & Sendable] = [
    \.memoryHits, \.diskHits, \.misses, \.sets, \.removals, \.loads, \.failedLoads, \.staleServed, \.refreshes,
    \.memoryEvictions, \.diskEvictions, \.expirations, \.commits, \.committedWrites, \.failedCommits,
    \.corruptedRecords, \.replayedWrites, \.reopenings, \.recoveries,
  ]

  package var reads: Int { memoryHits.addingClamped(diskHits).addingClamped(misses) }

  package func since(_ earlier: CacheStatistics) -> CacheStatistics {
    var difference = CacheStatistics()
    for path in Self.counters { difference[keyPath: path] = max(0, self[keyPath: path] - earlier[keyPath: path]) }
    difference.loadTime = max(.zero, loadTime - earlier.loadTime)
    return difference
  }

  package mutating func add(_ other: CacheStatistics) {
    for path in Self.counters { self[keyPath: path] = self[keyPath: path].addingClamped(other[keyPath: path]) }
    loadTime += other.loadTime
  }
}

final class DiskCounters: Sendable {
  let hits = Atomic<Int>(0)
  let misses = Atomic<Int>(0)
  let evictions = Atomic<Int>(0)
  let expirations = Atomic<Int>(0)
  let commits = Atomic<Int>(0)
  let committedWrites = Atomic<Int>(0)
  let failedCommits = Atomic<Int>(0)
  let corruptedRecords = Atomic<Int>(0)
  let replayedWrites = Atomic<Int>(0)
  let recoveries = Atomic<Int>(0)
  let reopenings = Atomic<Int>(0)
  /// Includes the memory tiers above.
  let latencies = LatencyRecorders()

  func add(to statistics: inout CacheStatistics) {
    statistics.diskHits += hits.load(ordering: .relaxed)
    statistics.misses += misses.load(ordering: .relaxed)
    statistics.diskEvictions += evictions.load(ordering: .relaxed)
    statistics.expirations += expirations.load(ordering: .relaxed)
    statistics.commits += commits.load(ordering: .relaxed)
    statistics.committedWrites += committedWrites.load(ordering: .relaxed)
    statistics.failedCommits += failedCommits.load(ordering: .relaxed)
    statistics.corruptedRecords += corruptedRecords.load(ordering: .relaxed)
    statistics.replayedWrites += replayedWrites.load(ordering: .relaxed)
    statistics.recoveries += recoveries.load(ordering: .relaxed)
    statistics.reopenings += reopenings.load(ordering: .relaxed)
  }
}

extension Atomic where Value == Int {
  @inline(__always)
  func increment(by amount: Int = 1) { wrappingAdd(amount, ordering: .relaxed) }
}

/// The durations of a cache's operations. All loads and commits are counted, the others are sampled
/// (``SampledOperation``), so only their proportions matter.
package struct CacheLatencies: Sendable, Equatable {
  package var memoryHits = LatencyHistogram()
  package var diskReads = LatencyHistogram()
  /// Until they survive the death of the process.
  package var writes = LatencyHistogram()
  package var loads = LatencyHistogram()
  package var commits = LatencyHistogram()

  /// In the published order.
  static let all: [any WritableKeyPath<CacheLatencies, LatencyHistogram> & Sendable] = [
    \.memoryHits, \.diskReads, \.writes, \.loads, \.commits,
  ]

  package func since(_ earlier: CacheLatencies) -> CacheLatencies {
    var difference = CacheLatencies()
    for path in Self.all { difference[keyPath: path] = self[keyPath: path].since(earlier[keyPath: path]) }
    return difference
  }

  package mutating func add(_ other: CacheLatencies) {
    for path in Self.all { self[keyPath: path].add(other[keyPath: path]) }
  }
}
