package import Foundation
public import Logging
import Platform
import Synchronization

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
  /// see ``LMDBCache/value(_:forKey:options:load:)``. More than 0, up to 24 hours; in real time.
  public var loadWaitLimit: Duration = .seconds(10)

  /// The default for reads with a loader: see ``LMDBCache/value(_:forKey:options:load:)``.
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

extension CacheConfiguration {
  /// The limits and the storage of the disk tier. ``DiskTier`` changes the limits while the cache is open.
  ///
  /// A process has one disk tier for a directory: opening it again requires the same settings, or throws
  /// ``CacheError/Code/configurationMismatch``. ``verification``, ``recoversFromDamage`` and ``allowsOtherUsers`` may
  /// differ, as they belong to each opening.
  public struct Disk: Sendable, Equatable {
    /// The maximum number of entries: ten million by default, `Int.max` for no limit. Each process enforces its limits,
    /// also for entries of other processes.
    public var countLimit: Int = 10_000_000
    /// The maximum total cost: 4 GiB by default. The default cost of an entry is its size in bytes.
    public var costLimit: Int = 4 << 30
    /// How long after its last access an entry stays; `nil` for no limit.
    public var ageLimit: Duration?
    /// Bytes to leave free on the volume; 0 switches this off.
    public var freeSpaceLimit: Int = 0

    /// Values longer than this many bytes are written once, into the value log; shorter ones go to the journal and then
    /// to the database. 1 byte … 1 GiB.
    ///
    /// The database reads faster: 4 KB in about half the time. The value log writes batches faster, 4 KB in 0.4 of the
    /// time, and single values about as fast. If values of 4 to 16 KB are read far more often than written, raise it to
    /// 16 KiB.
    public var inlineThreshold: Int = 2_048

    /// Bytes of a segment of the value log, unless it has a longer value.
    package var valueSegmentSize: Int = 32 << 20

    /// How long a write may wait to be committed with others. Within about this time other processes see a write, and
    /// it is safe from a power cut (``Durability/ordered``). 0 … 24 hours.
    public var groupCommitInterval: Duration = .milliseconds(50)

    /// Maximum size in bytes of the journal, which holds uncommitted writes. Each process creates one with its first
    /// write, and ``LMDBCache/close()`` removes it. It starts at 260 KiB, grows with writes, and shrinks after two to
    /// three seconds without one (on Linux, if the file system has holes). 64 KiB … 1 GiB.
    public var journalSize: Int = 16 << 20

    /// Bytes of address space (not of disk) reserved for the database. Grows when used up; shrinks at opening to the
    /// limit of `ulimit -v`. 1 MiB … 128 TiB.
    public var mapSize: Int = Int.bitWidth == 64 ? 1 << 36 : 1 << 30

    /// When the database's file is checked before use. An untrusted file is set aside, and the cache recreated: see
    /// ``LMDBCache/recovery``.
    public var verification: CacheVerification = .afterUncleanExit

    /// Whether a damaged database is set aside and the cache recreated. If false, opening throws
    /// ``CacheError/Code/damagedDatabase`` and changes nothing, so that you can inspect it or restore a copy.
    public var recoversFromDamage = true

    /// How long a commit, an opening or a read's first use of a thread's slot waits for another process's lock.
    /// Processes hold locks for milliseconds, except during the closure of a contended `update`, and while they are
    /// suspended (`SIGSTOP`, a debugger). After this
    /// time, writes stay in the journal and in memory, as on a full disk, until the other process continues or ends; an
    /// opening throws ``CacheError/Code/lockTimeout``. In real time; more than 0, up to 24 hours.
    public var lockTimeout: Duration = .seconds(2)

    /// Whether the directory may belong to another user, or be writable by others. They can then forge the values that
    /// are read.
    public var allowsOtherUsers = false

    public init() {}

    /// The defaults, without the limits of count and cost.
    public static var unlimited: Disk {
      var disk = Disk()
      disk.countLimit = .max
      disk.costLimit = .max
      return disk
    }
  }
}

extension CacheConfiguration {
  /// The limits of the memory tier. ``MemoryTier`` changes them while the cache is open.
  public struct Memory: Sendable, Equatable {
    /// The maximum number of entries: a million by default, `Int.max` for no limit.
    public var countLimit: Int = 1_000_000
    /// The maximum total cost: 256 MiB by default. An entry's default cost is the size of its archive, without the
    /// overhead. Of a million values set with the defaults, those of 10 bytes take 190 MB of memory; of those of 1,000
    /// bytes, 265,000 stay and take 480 MB.
    public var costLimit: Int = 256 << 20
    /// How long after its last access an entry stays; `nil` for no limit.
    public var ageLimit: Duration?
    private(set) var isOff = false

    public init() {}

    /// No memory tier: every read decodes the entry from the disk, and values use no memory. Loads and observers work as
    /// with one.
    public static var off: Memory {
      var memory = Memory()
      memory.isOff = true
      return memory
    }

    /// The defaults, without the limits of count and cost.
    public static var unlimited: Memory {
      var memory = Memory()
      memory.countLimit = .max
      memory.costLimit = .max
      return memory
    }
  }
}

extension CacheConfiguration {
  /// Refuses values outside their documented ranges.
  func validate() throws(CacheError) {
    func require(_ condition: Bool, _ message: String) throws(CacheError) {
      if !condition { throw CacheError(.invalidArgument, message) }
    }
    let day = Duration.seconds(86_400)
    try require(1...1 << 30 ~= disk.inlineThreshold, "disk.inlineThreshold is 1 byte … 1 GiB.")
    try require(1 << 16...1 << 30 ~= disk.journalSize, "disk.journalSize is 64 KiB … 1 GiB.")
    try require(disk.mapSize >= 1 << 20 && UInt64(disk.mapSize) <= 1 << 47, "disk.mapSize is 1 MiB … 128 TiB.")
    try require(.zero...day ~= disk.groupCommitInterval, "disk.groupCommitInterval is 0 … 24 hours.")
    try require(
      disk.lockTimeout > .zero && disk.lockTimeout <= day, "disk.lockTimeout is more than 0 and at most 24 hours.")
    try require(loadWaitLimit > .zero && loadWaitLimit <= day, "loadWaitLimit is more than 0 and at most 24 hours.")
    try loadOptions.validate()
    let identifiers = valueTransforms.map(\.identifier)
    try require(
      Set(identifiers).count == identifiers.count, "The identifiers of valueTransforms differ; \(identifiers) do not.")
    for transform in valueTransforms where !(transform is any PackagedTransform) {
      try require(
        transform.identifier >= 128,
        "The identifier of a transform of your own is 128 … 255; that of \(type(of: transform)) is "
          + "\(transform.identifier).")
    }
    for (name, limit) in [
      ("memory.countLimit", memory.countLimit), ("memory.costLimit", memory.costLimit),
      ("disk.countLimit", disk.countLimit), ("disk.costLimit", disk.costLimit),
      ("disk.freeSpaceLimit", disk.freeSpaceLimit),
    ] {
      try require(limit >= 0, "\(name) is not negative; \(limit) is. Without a limit it is Int.max.")
    }
    for (name, limit) in [("memory.ageLimit", memory.ageLimit), ("disk.ageLimit", disk.ageLimit)] {
      try require(limit ?? .zero >= .zero, "\(name) is not negative. Without a limit it is nil.")
    }
  }
}

/// The guarantee for a write that has returned.
///
/// The choice is stored with the cache; processes that share a directory must agree on it. In every mode a returned
/// write survives the death of its process, unless the disk is full or fails, which ``LMDBCache/health`` reports.
public enum Durability: UInt8, Sendable, CaseIterable {
  /// Group commits that reach the disk in order. After a power cut the cache is consistent, and lacks at most the last
  /// group commit and the uncommitted writes.
  case ordered = 1
  /// Every write waits until it is on the disk (`fsync`). Nothing that returned is lost in a power cut.
  case full = 2
  /// Nothing waits for the disk. After a crash of the operating system the whole cache is discarded.
  case fast = 3
}

/// The place of a program's named caches: see ``LMDBCache/init(name:in:configuration:)``.
public enum UserDirectory: Sendable, CaseIterable {
  /// For data that can be rebuilt, which the user or the system may remove at any time. `$XDG_CACHE_HOME` or `~/.cache`
  /// on Linux, `Library/Caches` on Apple platforms.
  case caches
  /// For data to keep, such as settings. `$XDG_DATA_HOME` or `~/.local/share` on Linux, `Library/Application Support`
  /// on Apple platforms.
  case data

  /// The directory that all programs share.
  package var url: URL {
    #if os(Linux)
      URL(fileURLWithPath: (self == .caches ? BaseDirectory.caches : .data).path(), isDirectory: true)
    #else
      FileManager.default.urls(
        for: self == .caches ? .cachesDirectory : .applicationSupportDirectory, in: .userDomainMask)[0]
    #endif
  }

  package static var homePath: String { BaseDirectory.home() }

  /// The name of the program's directory in each of them.
  package static var program: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

  /// The default cache of properties and stores, in ``data``.
  package static let defaultName = "EFStorage"

  func url(named name: String) throws(CacheError) -> URL {
    for name in [Self.program, name] {
      guard !name.isEmpty, name != ".", name != "..", !name.contains("/"), !name.utf8.contains(0) else {
        throw CacheError(.invalidArgument, "The name of a cache must be one path component, but is \(quoted(name)).")
      }
    }
    return url.appendingPathComponent(Self.program, isDirectory: true).appendingPathComponent(name, isDirectory: true)
  }
}

extension CacheConfiguration {
  /// Data to keep is not evicted by default.
  static func standard(in place: UserDirectory) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    if place == .data { configuration.disk = .unlimited }
    return configuration
  }
}

/// The directory of a store, which changes after a deletion.
final class CurrentDirectory: Sendable {
  private let directory: Mutex<Directory>

  init(_ directory: Directory) { self.directory = Mutex(directory) }

  var value: Directory {
    get { directory.withLock { $0 } }
    set { directory.withLock { $0 = newValue } }
  }
}

extension CacheConfiguration {
  /// The configuration with the memory tier off.
  package var withoutMemory: CacheConfiguration {
    var configuration = self
    configuration.memory = .off
    return configuration
  }

  package static var withoutMemory: CacheConfiguration { CacheConfiguration().withoutMemory }
}
