/// What a closure that loads a value is told, and what it decides about its entry.
public struct LoadContext: Sendable {
  /// What is loaded.
  public let key: String
  /// How long the value is fresh; `nil` for ever. ``LoadOptions/lifetime`` to begin with.
  public var lifetime: Duration?
  /// What the entry counts for; ``LoadOptions/cost`` to begin with.
  public var cost: Int?
  /// What the entry is tagged with; ``LoadOptions/tags`` to begin with.
  public var tags: [String]
  /// Whether the value is stored. It is returned to everybody who waits for it in any case.
  public var isStored = true
}
