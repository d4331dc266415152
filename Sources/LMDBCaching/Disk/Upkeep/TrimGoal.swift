/// What a trim has to reach.
struct TrimGoal: Sendable {
  var count = Int.max
  var cost = Int.max
  /// Entries last accessed before this second go.
  var lastAccess: UInt32 = 0
}
