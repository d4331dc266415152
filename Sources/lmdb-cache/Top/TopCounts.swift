import LMDBCaching

/// How often something was done.
struct TopCounts: Encodable {
  let reads: Int
  let memoryHits: Int
  let diskHits: Int
  let misses: Int
  let sets: Int
  let removals: Int
  let loads: Int
  let failedLoads: Int
  let staleServed: Int
  let memoryEvictions: Int
  let diskEvictions: Int
  let expirations: Int
  let commits: Int
  let committedWrites: Int
  let failedCommits: Int
  let corruptedRecords: Int

  init(_ statistics: CacheStatistics) {
    reads = statistics.reads
    memoryHits = statistics.memoryHits
    diskHits = statistics.diskHits
    misses = statistics.misses
    sets = statistics.sets
    removals = statistics.removals
    loads = statistics.loads
    failedLoads = statistics.failedLoads
    staleServed = statistics.staleServed
    memoryEvictions = statistics.memoryEvictions
    diskEvictions = statistics.diskEvictions
    expirations = statistics.expirations
    commits = statistics.commits
    committedWrites = statistics.committedWrites
    failedCommits = statistics.failedCommits
    corruptedRecords = statistics.corruptedRecords
  }
}
