/// How a memory cache is set up; every value but the clock can be changed later.
public struct MemoryCacheConfiguration: Sendable {
  /// A million.
  public static let standardCountLimit = 1_000_000

  /// The most values to hold: ``standardCountLimit`` by default, without a limit `Int.max`; 0 holds none. Less than 0 is taken
  /// for no limit, as with the other limits.
  public var countLimit = Self.standardCountLimit
  /// The highest total cost to hold; no limit by default, since what a value costs nobody knows but who sets it.
  public var costLimit = Int.max
  /// How long after its last access a value is kept; `nil` for ever.
  public var ageLimit: Duration?
  /// How often values too old or expired are looked for; zero or less: never.
  public var autoTrimInterval = Duration.seconds(5)
  /// Whether removed values are released on a background queue rather than by the thread that removed them.
  public var releasesAsynchronously = true
  /// Whether removed values are released on the main thread.
  public var releasesOnMainThread = false
  /// Whether the system's running short of memory empties the cache.
  public var removesAllObjectsOnMemoryWarning = true
  /// Whether the app's entering the background empties the cache.
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
