/// Counters of a memory cache since it was made.
public struct MemoryStatistics: Sendable, Hashable {
  /// Look-ups that found a live value.
  public var hits = 0
  /// Look-ups of a missing or expired value.
  public var misses = 0
  /// Values stored under a free key.
  public var insertions = 0
  /// Entries removed to keep the limits, or by a trim.
  public var evictions = 0
  /// Entries removed because they had expired.
  public var expirations = 0

  public init() {}

  /// Hits as a fraction of all look-ups, 0 without look-ups.
  public var hitRatio: Double {
    let lookups = hits + misses
    return lookups == 0 ? 0 : Double(hits) / Double(lookups)
  }
}
