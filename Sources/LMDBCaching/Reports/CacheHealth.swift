/// The state of a cache's disk tier.
public enum CacheHealth: Sendable, Equatable {
  /// Writes are being committed.
  case healthy
  /// Commits fail, or the latest write could not be recorded. Values are served and kept in memory, and in the journal as
  /// far as it reaches; the commit is tried again with growing pauses. The error says why. It is over when commits succeed
  /// and a write is recorded, or none is made for a minute. What was written meanwhile may be in memory only, for as long
  /// as that keeps it: the next ``LMDBCache/flush()`` says whether something is. A value that was loaded and could not be
  /// archived, is too large, or has a cost or tags that cannot be, is told of here as well, and is nowhere: its callers have
  /// it.
  case memoryOnly(CacheError)
  /// The cache is closed.
  case closed

  /// Whether writes are being committed.
  public var isHealthy: Bool {
    if case .healthy = self { true } else { false }
  }
}
