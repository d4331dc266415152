/// What an import did, or would do.
public struct ImportReport: Sendable, Equatable {
  /// Entries of the source that were looked at. Each is counted once below, too.
  public package(set) var examined = 0
  /// Entries that are in the cache now and were not, or that took the place of one.
  public package(set) var taken = 0
  /// Bytes of their keys and values, as they are stored.
  public package(set) var takenBytes = 0
  /// Entries that were left alone, since the cache has one under their key.
  public package(set) var present = 0
  /// Entries that had expired.
  public package(set) var expired = 0
  /// Entries that ``ImportOptions/isSelected`` does not select.
  public package(set) var unselected = 0
  /// Entries that could not be taken.
  public package(set) var refused = 0
  /// The first refusals, ``ImportOptions/listedRefusals`` at most; ``refusalCounts`` has all.
  public package(set) var refusals: [ImportRefusal] = []
  /// How many refusals there are of each reason, those included that are of a part of an entry, or of no single entry.
  public package(set) var refusalCounts: [ImportRefusal.Reason: Int] = [:]
  /// Whether the source was read to its end; otherwise the import was cancelled, or failed. Run again it goes on: what is in
  /// the cache is left alone.
  public package(set) var isComplete = false
  /// Whether nothing was stored, since it was only to be found out what would be.
  public package(set) var isDryRun = false

  package init() {}

  mutating func note(_ refusal: ImportRefusal, listing limit: Int) {
    refusalCounts[refusal.reason, default: 0] += 1
    if refusals.count < limit { refusals.append(refusal) }
  }
}
