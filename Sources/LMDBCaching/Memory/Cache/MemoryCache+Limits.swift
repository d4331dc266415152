extension MemoryCache {
  /// The maximum number of values, a million by default. Lowering it evicts before the setter returns; 0 empties the
  /// cache. A negative number means no limit, `Int.max`.
  public var countLimit: Int {
    get { store.countLimit }
    set { store.countLimit = newValue }
  }

  /// The maximum total cost. Lowering it evicts before the setter returns; 0 leaves only values without cost. A
  /// negative number means no limit, `Int.max`.
  public var costLimit: Int {
    get { store.costLimit }
    set { store.costLimit = newValue }
  }

  /// How long after its last access a value is kept, applied every ``autoTrimInterval``; `nil` or negative for ever.
  public var ageLimit: Duration? {
    get { store.ageLimit }
    set { store.ageLimit = newValue }
  }

  /// How often old and expired values are removed; zero or less: never. The timer runs only if needed.
  public var autoTrimInterval: Duration {
    get { store.autoTrimInterval }
    set { store.autoTrimInterval = newValue }
  }

  /// Evicts until at most `count` values are left; ignores a negative number. Blocks other threads for up to 256
  /// evictions.
  public func trim(toCount count: Int) { store.trim(toCount: count) }

  /// Evicts until the total cost is at most `cost`; ignores a negative number. Blocks other threads for up to 256
  /// evictions.
  public func trim(toCost cost: Int) { store.trim(toCost: cost) }

  /// Removes expired values and those whose last access is longer ago than `age` (to within 67 ms); ignores a negative
  /// age.
  public func trim(toAge age: Duration) { store.trim(toAge: age) }

  /// Whether removed values are released on a background queue (or asynchronously on the main thread) instead of the
  /// removing thread. Default true. ``removeValue(forKey:)`` returns its value instead.
  public var releasesAsynchronously: Bool {
    get { store.releasesAsynchronously }
    set { store.setsRelease(asynchronously: newValue, onMainThread: store.releasesOnMainThread) }
  }

  /// Whether removed values are released on the main thread, which must then run its queue. Default false. The number
  /// of waiting values is unbounded.
  public var releasesOnMainThread: Bool {
    get { store.releasesOnMainThread }
    set { store.setsRelease(asynchronously: store.releasesAsynchronously, onMainThread: newValue) }
  }
}
