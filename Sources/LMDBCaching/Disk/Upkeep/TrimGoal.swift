struct TrimGoal: Sendable {
  var count = Int.max
  var cost = Int.max
  /// Removes entries last accessed before this second.
  var lastAccess: UInt32 = 0
  /// Removes entries created before this second; they count as removed, not evicted.
  var created: UInt32 = 0
}
