public import Logging

/// How a cache is opened. Every property has a default that suits most uses.
///
/// Several caches of one process on a directory share its disk tier: they have to agree on ``durability``, ``disk`` and
/// ``clock``, and have all else for themselves.
public struct CacheConfiguration: Sendable {
  /// What a returned write promises; stored with the cache.
  public var durability: Durability = .ordered

  /// The limits of the memory tier.
  public var memory = Memory()

  /// The limits and the storage of the disk tier.
  public var disk = Disk()

  /// How long callers wait for another caller's load of the same key, in this process or another, before one of them loads the
  /// value itself; see ``LMDBCache/value(_:forKey:expiresIn:cost:load:)``. More than 0, at most 24 hours; in real time.
  public var loadWaitLimit: Duration = .seconds(10)

  /// How values are loaded where a read says nothing else: see ``LMDBCache/value(_:forKey:options:load:)``. Those that say
  /// `expiresIn` or `cost` have the rest from here. ``LoadOptions/refreshAhead`` needs a ``LoadOptions/lifetime`` here, too.
  public var loadOptions = LoadOptions()

  /// What runs around every load: spans for tracing, say, as `LMDBCachingTracing` makes them.
  public var loadInstrument: (any LoadInstrument)?

  /// How NSCoding objects are archived and read.
  public var objectCoding = ObjectCoding()

  /// What values go through on their way to the disk, in this order: compression before encryption. Their identifiers
  /// differ. Each cache of a process on a directory has its own.
  public var valueTransforms: [any ValueTransform] = []

  /// Where the cache takes the time from: ``CacheClock/system``, or a manual clock in tests.
  public var clock: CacheClock = .system

  /// Receives one structured event per noteworthy condition, and one for each load that fails; never one for an operation
  /// that succeeds.
  public var logger = Logger(label: "lmdb-caching")

  /// Whether a metrics system is told of it. A copy that is being made has a name that never comes again.
  var reportsMetrics = true

  /// Whether the directory goes when its last cache is closed: see ``LMDBCache/temporary(configuration:)``.
  var removesDirectory = false

  public init() {}
}
