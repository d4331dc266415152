/// How values are loaded, and for how long they serve: of ``LMDBCache/value(_:forKey:options:load:)``, and for every other
/// read with a loader, ``CacheConfiguration/loadOptions``.
///
/// A loaded value is *fresh* until it expires. After that it is kept for as long as ``staleWhileRevalidate`` and
/// ``failSafe`` ask, for loads alone: every other read finds nothing.
///
///     stored        refresh ahead          expires       stale while revalidate            fail-safe
///       ├───────────────┼─────────────────────┼──────────────────────┼─────────────────────────┤
///       │    served     │ served, and loaded  │  served, and loaded  │  loaded; served if that │
///       │               │  in the background  │   in the background  │ fails or takes too long │
public struct LoadOptions: Sendable {
  /// How long a loaded value is fresh, zero or more; `nil` for ever.
  public var lifetime: Duration?

  /// By which share of ``lifetime`` a value expires earlier at most, at random: so values that were loaded together are
  /// not loaded anew together. From 0, the default, to 1.
  public var jitter = 0.0

  /// After which share of its life a value that is asked for is loaded anew in the background. More than 0, up to 1;
  /// `nil`, the default: only when it has expired. Needs a ``lifetime`` of the same options.
  public var refreshAhead: Double?

  /// For how long after its expiry a value is still served while it is loaded anew in the background, zero or more. Zero by
  /// default.
  public var staleWhileRevalidate = Duration.zero

  /// For how long after its expiry a value is served when loading it anew fails, or takes longer than ``timeLimit``, zero
  /// or more. Zero by default: the error is thrown.
  public var failSafe = Duration.zero

  /// For how long that there is no value is remembered, zero or more; `nil`, the default: it is not.
  public var absenceLifetime: Duration?

  /// How long a caller waits for the load, more than zero; `nil`, the default, for ever. The load goes on, and is stored
  /// when it ends. In real time.
  public var timeLimit: Duration?

  /// How long nothing is loaded under a key after a load that failed, as long as there is a value to serve instead. Twice
  /// as long with each failure in a row, up to ``longestPause``. A second by default; zero or more.
  public var pauseAfterFailure = Duration.seconds(1)
  /// A minute by default; not less than ``pauseAfterFailure``.
  public var longestPause = Duration.seconds(60)

  /// What the entry counts for against the cost limits, zero or more; `nil` for its size in bytes.
  public var cost: Int?

  /// What the entry is tagged with, 64 different tags at most; see ``LMDBCache/removeAll(taggedWith:)``.
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

  /// How long a value is kept after its expiry.
  var keptFor: Duration { max(staleWhileRevalidate, failSafe) }
}
