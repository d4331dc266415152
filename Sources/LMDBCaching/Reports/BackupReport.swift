/// The contents of a backup: see ``LMDBCache/backUp(to:skippingDamaged:)``.
public struct BackupReport: Sendable {
  /// Entries, including expired ones that are kept for loads.
  public var entries = 0
  /// Bytes of the keys and the stored values.
  public var bytes = 0
  /// How many damaged entries were left out.
  public var damagedEntries = 0
  /// The errors of the first damaged entries, which name their keys.
  public var damage: [CacheError] = []

  static let greatestDamage = 100

  mutating func note(_ error: CacheError) {
    damagedEntries += 1
    if damage.count < Self.greatestDamage { damage.append(error) }
  }
}
