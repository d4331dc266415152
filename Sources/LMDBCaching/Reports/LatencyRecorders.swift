/// Where a store, and the memory tiers over it, note how long operations took. Any thread.
final class LatencyRecorders: Sendable {
  let memoryHits = LatencyRecorder()
  let diskReads = LatencyRecorder()
  let writes = LatencyRecorder()
  let loads = LatencyRecorder()
  let commits = LatencyRecorder()

  /// What was noted since the store was opened.
  var latencies: CacheLatencies {
    var latencies = CacheLatencies()
    latencies.memoryHits = memoryHits.histogram
    latencies.diskReads = diskReads.histogram
    latencies.writes = writes.histogram
    latencies.loads = loads.histogram
    latencies.commits = commits.histogram
    return latencies
  }
}
