import LMDBCaching

/// How often a second something was done.
struct TopRates: Encodable {
  let reads: Double
  let memoryHits: Double
  let diskHits: Double
  let misses: Double
  let sets: Double
  let removals: Double
  let loads: Double
  let failedLoads: Double
  let staleServed: Double
  let memoryEvictions: Double
  let diskEvictions: Double
  let expirations: Double
  let commits: Double
  let committedWrites: Double
  let failedCommits: Double

  init(_ interval: ActivityInterval) { self.init(rate: interval.rate) }

  init(_ interval: ProcessInterval) { self.init(rate: interval.rate) }

  private init(rate: ((CacheStatistics) -> Int) -> Double) {
    reads = rate(\.reads)
    memoryHits = rate(\.memoryHits)
    diskHits = rate(\.diskHits)
    misses = rate(\.misses)
    sets = rate(\.sets)
    removals = rate(\.removals)
    loads = rate(\.loads)
    failedLoads = rate(\.failedLoads)
    staleServed = rate(\.staleServed)
    memoryEvictions = rate(\.memoryEvictions)
    diskEvictions = rate(\.diskEvictions)
    expirations = rate(\.expirations)
    commits = rate(\.commits)
    committedWrites = rate(\.committedWrites)
    failedCommits = rate(\.failedCommits)
  }
}
