/// The state of a cache's disk tier.
public enum CacheHealth: Sendable {
  /// Writes are being committed.
  case healthy
  /// Commits fail. Values are served and kept in memory, and in the journal as far as it reaches; the
  /// commit is tried again with growing pauses. The error says why.
  case memoryOnly(CacheError)
  /// The cache is closed.
  case closed

  public var isHealthy: Bool {
    if case .healthy = self { true } else { false }
  }
}
