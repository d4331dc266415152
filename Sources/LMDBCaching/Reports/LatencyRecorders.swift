/// Records the durations of operations in a store and its memory tiers. Any thread.
final class LatencyRecorders: Sendable {
  let memoryHits = LatencyRecorder()
  let diskReads = LatencyRecorder()
  let writes = LatencyRecorder()
  let loads = LatencyRecorder()
  let commits = LatencyRecorder()

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
