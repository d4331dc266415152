/// The results of an import or a dry run.
public struct ImportReport: Sendable, Equatable {
  /// Entries examined. Each is also counted once below.
  public package(set) var examined = 0
  /// Entries added to the cache or replaced in it.
  public package(set) var taken = 0
  /// Bytes of their keys and values, as stored.
  public package(set) var takenBytes = 0
  /// Entries skipped because the cache has their key.
  public package(set) var present = 0
  public package(set) var expired = 0
  /// Entries not selected by ``ImportOptions/isSelected``.
  public package(set) var unselected = 0
  public package(set) var refused = 0
  /// The first refusals, at most ``ImportOptions/listedRefusals``; ``refusalCounts`` has all.
  public package(set) var refusals: [ImportRefusal] = []
  /// The number of refusals for each reason, including those of parts of entries or of no single entry.
  public package(set) var refusalCounts: [ImportRefusal.Reason: Int] = [:]
  /// Whether the source was read to its end, not cancelled or failed. Repeat an incomplete import to continue it.
  public package(set) var isComplete = false
  /// Whether this was a dry run, which stores nothing.
  public package(set) var isDryRun = false

  package init() {}

  mutating func note(_ refusal: ImportRefusal, listing limit: Int) {
    refusalCounts[refusal.reason, default: 0] += 1
    if refusals.count < limit { refusals.append(refusal) }
  }
}
