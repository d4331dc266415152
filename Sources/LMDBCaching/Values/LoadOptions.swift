/// How values are loaded and how long they serve, for ``LMDBCache/value(_:forKey:options:load:)`` and, from
/// ``CacheConfiguration/loadOptions``, for every other read with a loader.
///
/// A loaded value is *fresh* until it expires. Then ``staleWhileRevalidate`` and ``failSafe`` keep it for loads only;
/// other reads find nothing.
///
///     stored        refresh ahead          expires       stale while revalidate            fail-safe
///       ├───────────────┼─────────────────────┼──────────────────────┼─────────────────────────┤
///       │    served     │ served, and loaded  │  served, and loaded  │  loaded; served if that │
///       │               │  in the background  │   in the background  │ fails or takes too long │
public struct LoadOptions: Sendable {
  /// How long a loaded value is fresh, zero or more; `nil` for ever.
  public var lifetime: Duration?

  /// The maximum share of ``lifetime`` by which a value expires earlier, at random, so that values loaded together are
  /// not reloaded together. From 0, the default, to 1.
  public var jitter = 0.0

  /// The share of its life after which reading a value reloads it in the background. More than 0, up to 1; `nil`, the
  /// default, only after it expires. Needs a ``lifetime`` in the same options.
  public var refreshAhead: Double?

  /// How long after its expiry a value is served during a background reload, zero or more. Zero by default.
  public var staleWhileRevalidate = Duration.zero

  /// How long after its expiry a value is served if loading fails or takes longer than ``timeLimit``, zero or more.
  /// Zero by default: the error is thrown.
  public var failSafe = Duration.zero

  /// How long an absence is remembered, zero or more; `nil`, the default, not at all.
  public var absenceLifetime: Duration?

  /// How long a caller waits for the load, in real time, more than zero; `nil`, the default, for ever. The load
  /// continues and is stored when it ends.
  public var timeLimit: Duration?

  /// How long a key is not loaded after a failed load while there is a value to serve. Doubles with each failure in a
  /// row, up to ``longestPause``. A second by default; zero or more.
  public var pauseAfterFailure = Duration.seconds(1)
  /// A minute by default; not less than ``pauseAfterFailure``.
  public var longestPause = Duration.seconds(60)

  /// The entry's share of the cost limits, zero or more; `nil` for its size in bytes.
  public var cost: Int?

  /// The entry's tags, up to 64 different ones; see ``LMDBCache/removeAll(_:)``.
  public var tags: [String] = []

  public init(lifetime: Duration? = nil) { self.lifetime = lifetime }

  func validate() throws(CacheError) {
    func check(_ isRight: Bool, _ message: String) throws(CacheError) {
      if !isRight { throw CacheError(.invalidArgument, message) }
    }
    try check(
      (lifetime ?? .zero) >= .zero && (absenceLifetime ?? .zero) >= .zero,
      "A lifetime is not negative; nil is for ever.")
    try check((0...1).contains(jitter), "A jitter is from 0 to 1; \(jitter) is not.")
    try check(
      refreshAhead.map { $0 > 0 && $0 <= 1 } ?? true, "Refreshing ahead begins at a share of more than 0, up to 1.")
    try check(refreshAhead == nil || lifetime != nil, "Refreshing ahead needs a lifetime.")
    try check(
      staleWhileRevalidate >= .zero && failSafe >= .zero, "A time for which stale values are served is not negative.")
    try check(timeLimit.map { $0 > .zero } ?? true, "A time limit is more than zero.")
    try check(
      pauseAfterFailure >= .zero && longestPause >= pauseAfterFailure,
      "A pause is not negative, and the longest one is the longest.")
    try check((cost ?? 0) >= 0, "A cost is not negative.")
    _ = try EntryTags.make(tags)
  }

  var keptFor: Duration { max(staleWhileRevalidate, failSafe) }
}

/// Wraps every load of a cache, for tracing for example. See ``CacheConfiguration/loadInstrument``.
public protocol LoadInstrument: Sendable {
  /// Calls `body`, which loads the value under `key` of the cache in `directory`, once and passes on its result or error.
  ///
  /// Runs in a task that has the caller's task-local values; for a blocking load, on the thread that runs it.
  nonisolated(nonsending) func load<R>(
    key: String, directory: String, _ body: nonisolated(nonsending) () async throws -> R
  ) async rethrows -> R
}

/// The input of a closure that loads a value, and its choices for the entry.
///
/// A value with an invalid cost or tags is returned but not stored, and the log reports it.
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
