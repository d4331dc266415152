/// This process's writes, counted under the journal's lock.
struct WriteCounts {
  var sets = 0
  /// Each operation counts once, however many entries it removes.
  var removals = 0

  func add(to statistics: inout CacheStatistics) {
    statistics.sets += sets
    statistics.removals += removals
  }
}
