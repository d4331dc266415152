/// The input of a closure that loads a value, and its choices for the entry.
///
/// A value with an invalid cost or tags is returned but not stored; the log and ``CacheHealth/memoryOnly(_:)`` report
/// it.
public struct LoadContext: Sendable {
  /// The key being loaded.
  public let key: String
  /// How long the value is fresh: `nil` means for ever, zero or less not at all. Starts as ``LoadOptions/lifetime``.
  public var lifetime: Duration?
  /// The entry's cost, zero or more. Starts as ``LoadOptions/cost``.
  public var cost: Int?
  /// The entry's tags, up to 64 different ones. Starts as ``LoadOptions/tags``.
  public var tags: [String]
  /// Whether the value is stored. All waiting callers get it in any case.
  public var isStored = true
  /// Properties that the stored entry inherits from another machine's.
  var inherited = InheritedEntry()

  package init(key: String, lifetime: Duration?, cost: Int?, tags: [String]) {
    self.key = key
    self.lifetime = lifetime
    self.cost = cost
    self.tags = tags
  }

  struct InheritedEntry: Sendable {
    /// The remote tier's change that the value belongs to, or 0.
    var revision: UInt64 = 0
    /// Overrides the lifetime: nanoseconds since 1970, or 0 for never.
    var expires: Int64?
    var tags: EntryTags?
  }

  /// Assigns the stored entry to a change of a remote tier. `expires` is in nanoseconds since 1970, 0 for never.
  package mutating func noteRevision(_ revision: UInt64, expires: Int64) {
    (inherited.revision, inherited.expires) = (revision, expires)
  }
}
