/// What one thread of a replay, or all of them together, counted and measured.
struct ReplayTimes: Sendable {
  var memoryHits = Histogram()
  var diskHits = Histogram()
  /// Of either tier: with several threads, which one answered cannot be told for a single request.
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
