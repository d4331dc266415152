/// The state of a cache's disk tier.
public enum CacheHealth: Sendable, Equatable {
  /// Writes are being committed.
  case healthy
  /// Commits fail, or the latest write could not be recorded; the error says why. Values are served and kept in memory,
  /// and in the journal while it has room; the commit is retried with growing pauses. It ends when commits succeed and
  /// a write is recorded, or after a minute without a write. Writes of that time may be in memory only until evicted:
  /// the next ``LMDBCache/flush()`` reports them. Also reports a loaded value that could not be archived, is too large,
  /// or has an invalid cost or tags; only its callers have it.
  case memoryOnly(CacheError)
  /// The cache is closed.
  case closed

  /// Whether writes are being committed.
  public var isHealthy: Bool {
    if case .healthy = self { true } else { false }
  }
}
