/// Counts and times of one thread of a replay, or of all.
struct ReplayTimes: Sendable {
  var memoryHits = Histogram()
  var diskHits = Histogram()
  /// Hits of either tier, which cannot be distinguished with several threads.
  var hits = Histogram()
  var misses = Histogram()
  var wrongValues = 0

  mutating func add(_ other: ReplayTimes) {
    memoryHits.add(other.memoryHits)
    diskHits.add(other.diskHits)
    hits.add(other.hits)
    misses.add(other.misses)
    wrongValues += other.wrongValues
  }

  var all: Histogram {
    var all = hits
    all.add(misses)
    return all
  }
}
