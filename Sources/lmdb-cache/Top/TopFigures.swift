import LMDBCaching

/// How often something was done: in all, or per second.
struct TopFigures<Figure: Encodable>: Encodable {
  let reads: Figure
  let memoryHits: Figure
  let diskHits: Figure
  let misses: Figure
  let sets: Figure
  let removals: Figure
  let loads: Figure
  let failedLoads: Figure
  let staleServed: Figure
  let memoryEvictions: Figure
  let diskEvictions: Figure
  let expirations: Figure
  let commits: Figure
  let committedWrites: Figure
  let failedCommits: Figure
  /// Of counts only.
  var corruptedRecords: Figure?

  init(_ figure: ((CacheStatistics) -> Int) -> Figure) {
    reads = figure(\.reads)
    memoryHits = figure(\.memoryHits)
    diskHits = figure(\.diskHits)
    misses = figure(\.misses)
    sets = figure(\.sets)
    removals = figure(\.removals)
    loads = figure(\.loads)
    failedLoads = figure(\.failedLoads)
    staleServed = figure(\.staleServed)
    memoryEvictions = figure(\.memoryEvictions)
    diskEvictions = figure(\.diskEvictions)
    expirations = figure(\.expirations)
    commits = figure(\.commits)
    committedWrites = figure(\.committedWrites)
    failedCommits = figure(\.failedCommits)
  }
}
