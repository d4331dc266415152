package struct TrialSettings: Sendable {
  /// Number of rounds.
  package var count: Int
  /// Seeds every random choice.
  package var seed: UInt64
  /// An empty directory on a local disk. The caller removes it.
  package var directory: String

  package init(count: Int, seed: UInt64, directory: String) {
    self.count = count
    self.seed = seed
    self.directory = directory
  }
}
