/// The state of the journal that the writer's decisions depend on.
struct JournalSituation: Equatable {
  struct Active: Equatable {
    var isEmpty = true
    var isQuarterFull = false
    var isRequested = false
    var firstAppend: Int64 = 0
  }

  var hasSealed = false
  /// Whether the active segment, if any, can be sealed, which takes a spare one.
  var canSeal = true
  /// Whether values on disk must be removed because their keys are hidden.
  var hidesKeys = false
  var active: Active?
  var hasJobs = false

  var isPending: Bool { hasSealed || hidesKeys || active.map { !$0.isEmpty } ?? false }

  var canCommit: Bool { hasSealed || canSeal }
}
