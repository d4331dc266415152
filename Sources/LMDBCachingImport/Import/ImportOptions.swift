/// The entries to import, and the handling of existing ones.
public struct ImportOptions: Sendable {
  /// How to handle a key that the cache already has.
  public enum Existing: Hashable, Sendable {
    /// Keeps the cache's entry, even if stored during the import: an import never replaces newer entries, and a
    /// repeated one continues.
    case kept
    /// Replaces it with the source's entry.
    case replaced
  }

  public var existing = Existing.kept

  /// A prefix for every key.
  public var keyPrefix = ""

  /// Selects entries by their keys in the source; `nil` selects all. Called on the importing thread.
  public var isSelected: (@Sendable (String) -> Bool)?

  /// Longer values are refused: bytes, 512 MiB by default, always below 4 GiB. Each value is held in memory as a whole.
  public var maximumValueSize = 512 << 20

  /// The most refusals that a report lists, 100 by default. All are counted.
  public var listedRefusals = 100

  public init() {}
}
