extension CacheConfiguration {
  /// The limits and the storage of the disk tier. ``DiskCache`` changes the limits while the cache is open.
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
