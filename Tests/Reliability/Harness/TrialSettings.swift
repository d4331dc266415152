/// What a trial is given.
package struct TrialSettings: Sendable {
  /// Rounds; what a round is, the trial's figures say.
  package var count: Int
  /// Every random choice comes from it: the same seed makes the same choices.
  package var seed: UInt64
  /// An empty directory of the trial's own, on a local disk; whoever runs the trial removes it.
  package var directory: String

  package init(count: Int, seed: UInt64, directory: String) {
    self.count = count
    self.seed = seed
    self.directory = directory
  }
}
