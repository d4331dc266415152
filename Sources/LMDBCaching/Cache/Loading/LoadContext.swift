/// What a closure that loads a value is told, and what it decides about its entry.
///
/// A value whose cost or tags are out of their range is returned, and not stored: ``CacheHealth/memoryOnly(_:)`` and the log
/// say so.
public struct LoadContext: Sendable {
  /// What is loaded.
  public let key: String
  /// How long the value is fresh; `nil` for ever, and zero or less not at all. ``LoadOptions/lifetime`` to begin with.
  public var lifetime: Duration?
  /// What the entry counts for, zero or more; ``LoadOptions/cost`` to begin with.
  public var cost: Int?
  /// What the entry is tagged with, 64 different tags at most; ``LoadOptions/tags`` to begin with.
  public var tags: [String]
  /// Whether the value is stored. It is returned to everybody who waits for it in any case.
  public var isStored = true
  /// What of another machine's entry goes on to the one that is stored.
  var inherited = InheritedEntry()

  package init(key: String, lifetime: Duration?, cost: Int?, tags: [String]) {
    self.key = key
    self.lifetime = lifetime
    self.cost = cost
    self.tags = tags
  }

  struct InheritedEntry: Sendable {
    /// Which change of a remote tier the value is of; 0: of none.
    var revision: UInt64 = 0
    /// Nanoseconds since 1970, in place of the lifetime; 0: never.
    var expires: Int64?
    var tags: EntryTags?
  }

  /// Makes the entry that is stored one of a change of a remote tier.
  ///
  /// - Parameter expires: Nanoseconds since 1970; 0: never.
  package mutating func noteRevision(_ revision: UInt64, expires: Int64) {
    (inherited.revision, inherited.expires) = (revision, expires)
  }
}
