public import Logging

/// How a cache is opened. Every property has a default that suits most uses.
public struct CacheConfiguration: Sendable {
  /// What a returned write promises; stored with the cache.
  public var durability: Durability = .ordered

  /// Memory tier: how many entries it holds at most.
  public var memoryCountLimit: Int = .max
  /// Memory tier: the greatest total cost. The default cost of an entry is its size in bytes.
  public var memoryCostLimit: Int = .max
  /// Memory tier: how long after its last access an entry stays; `nil` for no limit.
  public var memoryAgeLimit: Duration?

  /// Disk tier: how many entries it holds at most.
  public var diskCountLimit: Int = .max
  /// Disk tier: the greatest total cost. The default cost of an entry is its size in bytes.
  public var diskCostLimit: Int = .max
  /// Disk tier: how long after its last access an entry stays; `nil` for no limit.
  public var diskAgeLimit: Duration?
  /// Disk tier: bytes to leave free on the volume; 0 switches this off.
  public var freeDiskSpaceLimit: Int = 0

  /// Values longer than this many bytes are files of their own beside the database. 1 … 4 GiB - 1.
  public var inlineThreshold: Int = 1 << 20

  /// How long a write may wait for others to be committed with it. Another process sees a write, and a
  /// write is safe from a power cut (``Durability/ordered``), about this much later at the latest.
  public var groupCommitInterval: Duration = .milliseconds(50)

  /// Bytes of the journal, which holds writes until they are committed. It is preallocated at the first
  /// write, one per process, and removed by ``LMDBCache/close()``. 64 KiB … 1 GiB.
  public var journalSize: Int = 16 << 20

  /// Bytes of address space (not of disk) set aside for the database. Grows when it is used up; shrinks at
  /// opening to what `ulimit -v` allows.
  public var mapSize: Int = 64 << 30

  /// When the database's file is checked before it is used. What it cannot be trusted with is set aside, and the cache
  /// made anew: see ``LMDBCache/recovery``.
  public var verification: CacheVerification = .afterUncleanExit

  /// How long a commit, an opening or a read's first use of a thread's slot waits for a lock that another process holds.
  /// Processes hold locks for milliseconds; one that is suspended (`SIGSTOP`, a debugger) in such a moment keeps its lock.
  /// After this time writes stay in the journal and in memory, as they do when the disk is full, and are committed when
  /// the other process goes on or ends; an opening throws ``CacheError/Code/lockTimeout``. Measured in real time.
  public var lockTimeout: Duration = .seconds(2)

  /// How NSCoding objects are archived and read.
  public var objectCoding = ObjectCoding()

  /// What values go through on their way to the disk, in this order: compression before encryption. Their identifiers
  /// differ.
  public var valueTransforms: [any ValueTransform] = []

  /// Where the cache takes the time from: ``CacheClock/system``, or a manual clock in tests.
  public var clock: CacheClock = .system

  /// Receives one structured event per noteworthy condition; never one per operation.
  public var logger = Logger(label: "lmdb-caching")

  public init() {}
}

extension CacheConfiguration {
  func validate() throws(CacheError) {
    func require(_ condition: Bool, _ message: String) throws(CacheError) {
      if !condition { throw CacheError(.invalidArgument, message) }
    }
    try require(inlineThreshold > 0 && inlineThreshold < 1 << 32, "inlineThreshold is 1 … 4 GiB - 1 bytes.")
    try require((1 << 16)...(1 << 30) ~= journalSize, "journalSize is 64 KiB … 1 GiB.")
    try require(mapSize >= 1 << 20, "mapSize is at least 1 MiB.")
    try require(groupCommitInterval >= .zero, "groupCommitInterval is not negative.")
    try require(lockTimeout > .zero, "lockTimeout is positive.")
    let identifiers = valueTransforms.map(\.identifier)
    try require(
      Set(identifiers).count == identifiers.count && !identifiers.contains(0) && identifiers.count < 256,
      "The identifiers of valueTransforms differ, and none is 0.")
    try require(
      memoryCountLimit >= 0 && memoryCostLimit >= 0 && diskCountLimit >= 0 && diskCostLimit >= 0
        && freeDiskSpaceLimit >= 0, "A limit is not negative.")
  }
}
