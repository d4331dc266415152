extension MemoryCache {
  /// The most values to hold; a million unless the cache was made with another limit. Lowering it evicts before the setter
  /// returns; 0 empties the cache. Less than 0 is taken for no limit, `Int.max`.
  public var countLimit: Int {
    get { store.countLimit }
    set { store.countLimit = newValue }
  }

  /// The highest total cost to hold. Lowering it evicts before the setter returns; 0 leaves only what costs nothing. Less
  /// than 0 is taken for no limit, `Int.max`.
  public var costLimit: Int {
    get { store.costLimit }
    set { store.costLimit = newValue }
  }

  /// How long after its last access a value is kept, applied every ``autoTrimInterval``; `nil`, and less than 0, for ever.
  public var ageLimit: Duration? {
    get { store.ageLimit }
    set { store.ageLimit = newValue }
  }

  /// How often values too old or expired are looked for; zero or less: never. The timer runs only while there is an
  /// age limit or a value with an expiry.
  public var autoTrimInterval: Duration {
    get { store.autoTrimInterval }
    set { store.autoTrimInterval = newValue }
  }

  /// Evicts until no more than `count` values are left; for a number less than 0 it does nothing. Other threads never wait
  /// for more than 256 evictions.
  public func trim(toCount count: Int) { store.trim(toCount: count) }

  /// Evicts until the total cost is no more than `cost`; for a number less than 0 it does nothing. Other threads never wait
  /// for more than 256 evictions.
  public func trim(toCost cost: Int) { store.trim(toCost: cost) }

  /// Removes the values whose last access is longer ago than `age` (to within 67 ms), and those that have expired; for an
  /// age that is less than 0 it does nothing.
  public func trim(toAge age: Duration) { store.trim(toAge: age) }

  /// Whether removed values are released on a background queue (or asynchronously on the main thread) rather than by
  /// the thread that removed them. Default true. Not those that ``removeValue(forKey:)`` returns.
  public var releasesAsynchronously: Bool {
    get { store.releasesAsynchronously }
    set { store.setsRelease(asynchronously: newValue, onMainThread: store.releasesOnMainThread) }
  }

  /// Whether removed values are released on the main thread, which must then run its queue. Default false.
  ///
  /// Values wait for the main thread without a bound on their number.
  public var releasesOnMainThread: Bool {
    get { store.releasesOnMainThread }
    set { store.setsRelease(asynchronously: store.releasesAsynchronously, onMainThread: newValue) }
  }
}
