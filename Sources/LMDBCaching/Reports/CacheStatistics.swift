/// Counters of one cache since it was opened by this process, and what its files are used for now. Reading them takes no
/// lock that an operation waits for longer than for another operation; measuring the files takes some system calls, one
/// for each segment of the value log.
public struct CacheStatistics: Sendable, Equatable {
  /// Reads answered by the memory tier.
  public var memoryHits = 0
  /// Reads answered by the disk tier, the journal included.
  public var diskHits = 0
  /// Reads that found nothing, or only an expired entry. One that then loaded a value, or waited for another one's load,
  /// counts once.
  public var misses = 0
  /// Values stored by this process: by sets, batches and loads, recorded or, while the disk fails, in memory only.
  public var sets = 0
  /// Removals asked for by this process: each one counts once, of however many entries it was.
  public var removals = 0
  /// Closures that were run to load a value, until they returned or threw.
  public var loads = 0
  /// Those of them that threw, since they were cancelled, say.
  public var failedLoads = 0
  /// How long all of them ran, one after the other.
  public var loadTime = Duration.zero
  /// Values that were served after their expiry, since a load was under way or failed. They count as misses too.
  public var staleServed = 0
  /// Loads that were begun in the background.
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
  /// How often the files were found deleted or replaced, or LMDB gave up on them after an I/O error, and the cache
  /// opened what was in the directory.
  public var reopenings = 0

  /// How often the cache's files were set aside, since they were damaged: 1 if this opening did, and see
  /// ``LMDBCache/recovery``.
  public var recoveries = 0

  /// Bytes on the disk that entries take up, with what finds them. 0 where it cannot be known, in a closed cache, say.
  public var liveBytes = 0
  /// Bytes of the value log that no entry refers to any more. They are given back soon: see ``DiskCache``.
  public var deadBytes = 0
  /// Bytes on the disk that the next entries are written to. Those of the journal are not counted.
  public var freeBytes = 0

  public init() {}

  /// Hits of either tier by reads; 0 before the first read.
  public var hitRatio: Double {
    let hits = Double(memoryHits) + Double(diskHits)
    let reads = hits + Double(misses)
    return reads == 0 ? 0 : hits / reads
  }
}
