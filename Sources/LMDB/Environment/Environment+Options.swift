import Platform

extension Environment {
  /// How an environment is opened.
  public struct Options: Sendable, Equatable {
    /// Bytes of address space for the map: the largest size the file can have. It costs no disk space before it is
    /// used. Halved, down to 64 MiB, if the system does not give as much. Rounded up to whole pages.
    public var mapSize = Options.defaultMapSize

    /// Slots of the reader table, which all processes share: one for each snapshot that is open at a time, and a few that
    /// each process keeps: 1 to 2^20. The first process to open the environment decides for all. 64 bytes of the lock file
    /// each.
    public var maxReaders: UInt32 = 4094

    /// How many named databases can be opened: 0 to 65,535. Every transaction keeps memory for each.
    public var maxDatabases: UInt32 = 0

    /// What a commit waits for.
    public var syncMode = SyncMode.full

    /// Opens for reading only; the files must exist.
    public var isReadOnly = false

    /// Permissions of the files, when they are created.
    public var fileMode: UInt32 = 0o600

    /// How many reads this process can have running at once, 1 to 65,536; more wait for a moment.
    public var readerPoolSize = 64

    /// How many slots of the reader table this process keeps when their snapshots have ended, since taking one again
    /// costs some microseconds; it gives back all others. As many as run at once on this machine.
    package var keptReaders = min(16, max(4, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    /// Whether readers and writers are kept apart by a lock file. Without it, nobody else may have the files open
    /// (`MDB_NOLOCK`).
    package var usesLockFile = true

    /// How long operations wait for each other.
    package var waits = Waits()

    public init() {}

    /// 64 GiB, or 1 GiB where addresses have 32 bits.
    static var defaultMapSize: Int { Int.bitWidth == 64 ? 1 << 36 : 1 << 30 }

    /// Why these cannot be; `nil` if they can.
    var complaint: String? {
      if mapSize <= 0 { return "mapSize is 1 byte or more; \(mapSize) is not." }
      if !(1...Self.greatestMaxReaders).contains(Int(maxReaders)) {
        return "maxReaders is from 1 to \(Self.greatestMaxReaders); \(maxReaders) is not."
      }
      if !(1...1 << 16).contains(readerPoolSize) {
        return "readerPoolSize is from 1 to 65536; \(readerPoolSize) is not."
      }
      if maxDatabases > 65_535 { return "maxDatabases is from 0 to 65535; \(maxDatabases) is not." }
      return nil
    }

    static let greatestMaxReaders = 1 << 20
    static let leastMapSize = 64 << 20
  }
}
