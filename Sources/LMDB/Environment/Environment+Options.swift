import Platform

extension Environment {
  /// How an environment is opened.
  public struct Options: Sendable, Equatable {
    /// Bytes of address space for the map: the largest size the file can have. Takes no disk space until used. Halved,
    /// down to 64 MiB, if the system refuses. Rounded up to whole pages.
    public var mapSize = Options.defaultMapSize

    /// Slots of the reader table that all processes share, 1 to 2^20: one per open snapshot, and a few that each
    /// process keeps. The first process to open the environment decides. Each takes 64 bytes of the lock file.
    public var maxReaders: UInt32 = 4094

    /// How many named databases can be opened: 0 to 65,535. Every transaction takes memory for each.
    public var maxDatabases: UInt32 = 0

    /// The durability of a commit.
    public var syncMode = SyncMode.full

    /// Opens for reading only; the files must exist.
    public var isReadOnly = false

    /// Permissions for new files.
    public var fileMode: UInt32 = 0o600

    /// How many reads can run at once in this process, 1 to 65,536; further reads wait.
    public var readerPoolSize = 64

    /// Reader table slots that this process keeps after their snapshots end, because taking one costs microseconds. As
    /// many as reads can run in parallel on this machine.
    package var keptReaders = min(16, max(4, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    /// Whether a lock file separates readers and writers. Without it, no other process may have the files open
    /// (`MDB_NOLOCK`).
    package var usesLockFile = true

    /// How long operations wait for each other.
    package var waits = Waits()

    public init() {}

    /// 64 GiB, or 1 GiB with 32-bit addresses.
    static var defaultMapSize: Int { Int.bitWidth == 64 ? 1 << 36 : 1 << 30 }

    /// Why the options are invalid; `nil` if they are valid.
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
