/// What an import takes, and what it does with what is there.
public struct ImportOptions: Sendable {
  /// What becomes of an entry of the cache whose key the source has, too.
  public enum Existing: Hashable, Sendable {
    /// It stays, whoever stored it, be it while the import runs: so an import never replaces what is newer, and goes on
    /// where an earlier one ended.
    case kept
    /// The source's entry takes its place.
    case replaced
  }

  public var existing = Existing.kept

  /// What is put in front of each key.
  public var keyPrefix = ""

  /// Selects entries by their keys in the source; `nil` selects all. Called on the thread that imports.
  public var isSelected: (@Sendable (String) -> Bool)?

  /// Longer values are not taken: bytes, 512 MiB by default, and less than 4 GiB in any case. A value is in memory as a
  /// whole when it is taken.
  public var maximumValueSize = 512 << 20

  /// How many refusals a report lists: 100 by default. All are counted.
  public var listedRefusals = 100

  public init() {}
}
