/// What a backup holds: see ``LMDBCache/backUp(to:skippingDamaged:)``.
public struct BackupReport: Sendable {
  /// Entries, those included that have expired and are kept for loads.
  public var entries = 0
  /// Bytes of their keys and of their values as they are stored.
  public var bytes = 0
  /// How many entries are damaged, and not in it.
  public var damagedEntries = 0
  /// The errors of the first of them, which name their keys.
  public var damage: [CacheError] = []

  static let greatestDamage = 100

  mutating func note(_ error: CacheError) {
    damagedEntries += 1
    if damage.count < Self.greatestDamage { damage.append(error) }
  }
}
