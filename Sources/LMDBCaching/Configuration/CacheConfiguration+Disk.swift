extension CacheConfiguration {
  /// The limits and the storage of the disk tier. ``DiskCache`` changes the limits while the cache is open.
  ///
  /// A process has one disk tier for a directory: who opens it again has to ask for the same, or the opening throws
  /// ``CacheError/Code/configurationMismatch``. Only what is about opening the files is not compared then:
  /// ``verification``, ``recoversFromDamage`` and ``allowsOtherUsers``, which holds for each opening.
  public struct Disk: Sendable, Equatable {
    /// How many entries it holds at most: ten million by default, and without a limit `Int.max`. A process keeps its own
    /// limits, also of what other processes have stored.
    public var countLimit: Int = 10_000_000
    /// The greatest total cost: 4 GiB by default. The default cost of an entry is its size in bytes.
    public var costLimit: Int = 4 << 30
    /// How long after its last access an entry stays; `nil` for no limit.
    public var ageLimit: Duration?
    /// Bytes to leave free on the volume; 0 switches this off.
    public var freeSpaceLimit: Int = 0

    /// Values longer than this many bytes are written once, into the value log beside the database; shorter ones are in
    /// the journal and then in the database. 1 byte … 1 GiB.
    ///
    /// What is in the database is read in less time, 4 KB in about half of it. What is in the value log is written in
    /// less time where it comes in batches, 4 KB in 0.4 of it, and one by one in about the same. So where values of 4 to
    /// 16 KB are read far more often than written, raise it to 16 KiB.
    public var inlineThreshold: Int = 2_048

    /// Bytes of a segment of the value log, unless it has a longer value.
    package var valueSegmentSize: Int = 32 << 20

    /// How long a write may wait for others to be committed with it. Another process sees a write, and a
    /// write is safe from a power cut (``Durability/ordered``), about this much later at the latest. 0 … 24 hours.
    public var groupCommitInterval: Duration = .milliseconds(50)

    /// Greatest size of the journal in bytes, which holds writes until they are committed. Each process makes one with its
    /// first write, and ``LMDBCache/close()`` removes it. It takes 260 KiB at first, grows with what is written, and
    /// shrinks after two to three seconds without a write (on Linux, where the file system has holes). 64 KiB … 1 GiB.
    public var journalSize: Int = 16 << 20

    /// Bytes of address space (not of disk) set aside for the database. Grows when it is used up; shrinks at
    /// opening to what `ulimit -v` allows. At least 1 MiB, at most 128 TiB.
    public var mapSize: Int = Int.bitWidth == 64 ? 1 << 36 : 1 << 30

    /// When the database's file is checked before it is used. A file that cannot be trusted is set aside, and the
    /// cache is made anew: see ``LMDBCache/recovery``.
    public var verification: CacheVerification = .afterUncleanExit

    /// Whether a database that is damaged is set aside, and the cache made anew. Otherwise opening throws
    /// ``CacheError/Code/damagedDatabase`` and changes nothing: for who wants to look at it first, or has a copy.
    public var recoversFromDamage = true

    /// How long a commit, an opening or a read's first use of a thread's slot waits for a lock that another process
    /// holds. Processes hold locks for milliseconds; one that is suspended (`SIGSTOP`, a debugger) in such a moment
    /// keeps its lock. After this time writes stay in the journal and in memory, as they do when the disk is full, and
    /// are committed when the other process goes on or ends; an opening throws ``CacheError/Code/lockTimeout``.
    /// Measured in real time. More than 0, at most 24 hours.
    public var lockTimeout: Duration = .seconds(2)

    /// Whether the directory may belong to another user, or be one that others may write to. Whoever can write to it
    /// decides what is read from it.
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
