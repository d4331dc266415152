/// Counts of what a memory cache did since it was made.
public struct MemoryStatistics: Sendable, Hashable {
  /// Look-ups that found a live value.
  public var hits = 0
  /// Look-ups that found none, or an expired one.
  public var misses = 0
  /// Values stored under a key that had none.
  public var insertions = 0
  /// Entries removed to keep the limits, or by a trim.
  public var evictions = 0
  /// Entries removed because they had expired.
  public var expirations = 0

  public init() {}

  /// Hits as a part of all look-ups, 0 when there were none.
  public var hitRatio: Double {
    let lookups = hits + misses
    return lookups == 0 ? 0 : Double(hits) / Double(lookups)
  }
}
