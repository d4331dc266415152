package struct TrialSettings: Sendable {
  package var count: Int
  package var seed: UInt64
  /// An empty directory on a local disk. The caller removes it.
  package var directory: String

  package init(count: Int, seed: UInt64, directory: String) {
    self.count = count
    self.seed = seed
    self.directory = directory
  }
}
