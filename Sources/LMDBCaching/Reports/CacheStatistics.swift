/// Counters of one cache since this process opened it, and the present use of its files. Reading them blocks no longer
/// than an operation; measuring the files takes system calls, one for each segment of the value log.
public struct CacheStatistics: Sendable, Equatable {
  /// Reads answered by the memory tier.
  public var memoryHits = 0
  /// Reads answered by the disk tier, including the journal.
  public var diskHits = 0
  /// Reads of a missing or expired entry. One that then loaded a value, or waited for another load, counts once.
  public var misses = 0
  /// Values stored by this process: by sets, batches and loads, including those in memory only while the disk fails.
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
  /// Bytes of removed entries in the value log. They are reclaimed soon: see ``DiskCache``.
  public var deadBytes = 0
  /// Bytes on the disk reserved for new entries, without the journal.
  public var freeBytes = 0

  public init() {}

  /// Hits of either tier by reads; 0 before the first read.
  public var hitRatio: Double {
    let hits = Double(memoryHits) + Double(diskHits)
    let reads = hits + Double(misses)
    return reads == 0 ? 0 : hits / reads
  }
}
