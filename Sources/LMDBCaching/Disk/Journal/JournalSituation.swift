/// What waits in the journal, as far as the writer's decision depends on it.
struct JournalSituation: Equatable {
  struct Active: Equatable {
    var isEmpty = true
    var isQuarterFull = false
    /// Whether somebody waits for its commit.
    var isRequested = false
    /// When the first frame was appended, on the monotonic clock.
    var firstAppend: Int64 = 0
  }

  var hasSealed = false
  /// Whether there is a spare segment, or none at all: without one the active segment cannot be sealed.
  var canSeal = true
  /// Whether keys are hidden, whose older values have to be removed from the disk.
  var hidesKeys = false
  var active: Active?
  var hasJobs = false

  /// Whether there is anything to commit.
  var isPending: Bool { hasSealed || hidesKeys || active.map { !$0.isEmpty } ?? false }

  var canCommit: Bool { hasSealed || canSeal }
}
