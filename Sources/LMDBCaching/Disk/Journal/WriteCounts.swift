/// What a process has written: counted with the journal's lock held, which every write takes.
struct WriteCounts {
  var sets = 0
  /// Each counts once, of however many entries it was.
  var removals = 0

  func add(to statistics: inout CacheStatistics) {
    statistics.sets += sets
    statistics.removals += removals
  }
}
