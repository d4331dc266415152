/// How a memory cache is set up; every value but the clock can be changed later.
public struct MemoryCacheConfiguration: Sendable {
  /// A million.
  public static let standardCountLimit = 1_000_000

  /// The maximum number of values: ``standardCountLimit`` by default, `Int.max` for no limit, as are negative numbers;
  /// 0 holds none.
  public var countLimit = Self.standardCountLimit
  /// The maximum total cost; no limit by default, since the unit of costs is up to the caller.
  public var costLimit = Int.max
  /// How long after its last access a value is kept; `nil` for ever.
  public var ageLimit: Duration?
  /// How often values too old or expired are looked for; zero or less: never.
  public var autoTrimInterval = Duration.seconds(5)
  /// Whether removed values are released on a background queue rather than by the thread that removed them.
  public var releasesAsynchronously = true
  /// Whether removed values are released on the main thread.
  public var releasesOnMainThread = false
  /// Whether memory pressure empties the cache.
  public var removesAllObjectsOnMemoryWarning = true
  /// Whether the cache is emptied when the app enters the background.
  public var removesAllObjectsWhenEnteringBackground = true
  /// Where the time comes from.
  public var clock = CacheClock.system

  public init(
    countLimit: Int = Self.standardCountLimit, costLimit: Int = .max, ageLimit: Duration? = nil,
    clock: CacheClock = .system
  ) {
    self.countLimit = countLimit
    self.costLimit = costLimit
    self.ageLimit = ageLimit
    self.clock = clock
  }

  /// The defaults, without a limit of the count.
  public static var unlimited: MemoryCacheConfiguration { MemoryCacheConfiguration(countLimit: .max) }
}
