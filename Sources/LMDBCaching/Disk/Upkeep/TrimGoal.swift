/// What a trim has to reach.
struct TrimGoal: Sendable {
  var count = Int.max
  var cost = Int.max
  /// Entries last accessed before this second go.
  var lastAccess: UInt32 = 0
  /// Entries created before this second go, and count as removed rather than evicted.
  var created: UInt32 = 0
}
