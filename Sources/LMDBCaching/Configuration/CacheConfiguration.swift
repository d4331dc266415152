public import Logging

/// How a cache is opened. The defaults suit most uses.
///
/// Caches of one process on a directory share its disk tier, so they must have the same ``durability``, ``disk`` and
/// ``clock``. Everything else is separate.
public struct CacheConfiguration: Sendable {
  /// The guarantee for a returned write; stored with the cache.
  public var durability: Durability = .ordered

  /// The limits of the memory tier.
  public var memory = Memory()

  /// The limits and the storage of the disk tier.
  public var disk = Disk()

  /// How long callers wait for another load of the same key, in any process, before one of them loads the value itself;
  /// see ``LMDBCache/value(_:forKey:expiresIn:cost:load:)``. More than 0, up to 24 hours; in real time.
  public var loadWaitLimit: Duration = .seconds(10)

  /// The default for reads with a loader: see ``LMDBCache/value(_:forKey:options:load:)``. Reads with `expiresIn` or
  /// `cost` take the rest from here. ``LoadOptions/refreshAhead`` needs a ``LoadOptions/lifetime`` here too.
  public var loadOptions = LoadOptions()

  /// Wraps every load, for tracing spans for example, as `LMDBCachingTracing` does.
  public var loadInstrument: (any LoadInstrument)?

  /// How NSCoding objects are archived and read.
  public var objectCoding = ObjectCoding()

  /// Transforms of values on their way to the disk, in this order: compression before encryption. Their identifiers
  /// must differ. Each cache on a directory has its own list.
  public var valueTransforms: [any ValueTransform] = []

  /// The source of the time: ``CacheClock/system``, or a manual clock in tests.
  public var clock: CacheClock = .system

  /// Receives one structured event for each noteworthy condition and each failed load; none for successful operations.
  public var logger = Logger(label: "lmdb-caching")

  /// Whether to report metrics. A copy in progress has a name that never recurs.
  var reportsMetrics = true

  /// Whether the last close deletes the directory: see ``LMDBCache/temporary(configuration:)``.
  var removesDirectory = false

  public init() {}
}
