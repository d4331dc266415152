import CLMDB
import CPlatform
import Platform
import Synchronization

/// An open LMDB environment: the directory with `data.mdb` and `lock.mdb`, mapped into memory.
///
/// A process has one object per file: ``open(directory:options:)`` always returns the same one, and each call must be
/// balanced by a ``close()``. All functions may be called from any thread, but a write transaction must end on the
/// thread it began on.
///
/// Reads use a pool of reset transactions, renewed for each read (`MDB_NOTLS`). The map is never writable, so a full
/// disk is an error and not a signal.
///
/// A child of `fork()` must not use or open an environment before `exec`.
// @unchecked: every stored property is a constant or guarded as its comment says; LMDB's environment is thread-safe,
// the pool gives a transaction to one thread at a time, and the gate in `control` refuses operations while the map
// moves or after it is gone.
public final class Environment: @unchecked Sendable {
  /// The directory's canonical path when it was opened.
  public let directory: String

  /// The longest key, in bytes: 511 (`mdb_env_get_maxkeysize`).
  public let maxKeySize: Int

  let options: Options
  /// The `MDB_env`. Valid until `control` is finished, and not while `isLost`. Changed only while no operation runs:
  /// see ``adopt(_:)`` and ``reopen()``.
  var handle: EnvironmentHandle
  /// Whether `handle` was closed and its files could not be reopened. Guarded by `writerMutex`.
  var isLost = false
  let control: ControlReference
  let slots: ReaderSlots
  let writerMutex = ConditionLock()
  /// The directory, even if moved. `nil` once the environment has ended. Guarded by `writerMutex`.
  var place: Directory?
  /// `nil` without a C environment. Guarded by `writerMutex`, and by the gate like `handle`.
  var locks: FileLocks?
  /// Serializes this process's changes to the reader table.
  let readerTableMutex = ConditionLock()

  /// Opens without a matching close. Guarded by the registry's lock.
  var openers = 1

  /// By name. Guarded by `writerMutex`.
  var databases: [String: Database] = [:]

  /// Takes ownership of an open C environment.
  init(_ opened: OpenFiles, options: Options, metaPages: consuming MetaPages) {
    handle = opened.handle
    locks = opened.locks
    place = opened.directory
    directory = opened.directory.path
    self.options = options
    maxKeySize = handle.maxKeySize
    slots = ReaderSlots(count: options.readerPoolSize, kept: options.keptReaders)
    control = ControlReference(to: Control(metaPages))
  }

  deinit {
    // Threads that want the files wait until the entry is removed.
    if !control.pointee.current.contains(.finished) { endHandles() }
    Registry.withLock { $0.remove(control) }
    // Transactions retain the environment.
    unsafe slots.deallocate()
    unsafe control.deallocate()
  }

  /// Whether the last ``close()`` was called, so that operations fail.
  package var isClosed: Bool { control.pointee.current.contains(.closed) }

  /// The last committed transaction's number, of any process. Callable at any time from any thread.
  ///
  /// Two loads from the file's meta pages, the words that `mdb_env_info` reports. May run slightly ahead of the
  /// snapshots that can be opened. Follows the file even after ``close()``.
  package var lastTransactionID: UInt64 { control.pointee.metaPages.lastTransactionID }

  /// The position of the last committed transaction of any process; needs no check. See ``position(of:)``.
  package func lastPosition() -> UInt64 {
    // The order matters: with an old generation, the new file's number is below all of the new generation and harmless.
    // The other way round, an old file's number would exceed later ones.
    let generation = control.pointee.generation.load(ordering: .acquiring)
    return generation &+ control.pointee.metaPages.lastTransactionID
  }

  /// Prefetches the first memory that a lookup in the main database reads, before its transaction begins, which takes
  /// as long.
  @inline(__always)
  package func prefetch(_ key: UnsafeRawBufferPointer) { unsafe control.pointee.hints.prefetch(TreeKey(key).hash) }

  /// Changes with ``adopt(_:)`` and ``reopen()``.
  package var generation: UInt64 { control.pointee.generation.load(ordering: .acquiring) }

  /// The largest map size that any process has recorded in the file.
  package var recordedMapSize: Int { control.pointee.metaPages.recordedMapSize }

  /// Running reads of this process.
  package var runningReads: Int { (0..<slots.count).count { !slots[$0].isFree } }

  /// Aborts the pool's transactions and closes the C environment.
  ///
  /// The environment must be unused and unreachable in the registry: no thread may open the lock file during the close.
  func endHandles() {
    closeHandle()
    place = nil
    control.pointee.raise([.closed, .finished])
  }

  /// Closes the C environment, if any. Requirements as for ``endHandles()``.
  func closeHandle() {
    if isLost { return }
    control.pointee.forgetMap()
    endPool()
    // No operation runs.
    unsafe handle.close()
    locks = nil
  }

  /// Aborts the pool's transactions. No read may be running.
  func endPool() { for index in 0..<slots.count { unsafe slots[index].endTransaction() } }
}

extension Environment {
  /// How an environment is opened.
  public struct Options: Sendable, Equatable {
    /// Bytes of address space for the map: the largest size the file can have, 64 GiB. Takes no disk space until used. Halved,
    /// down to 64 MiB, if the system refuses. Rounded up to whole pages.
    public var mapSize = 1 << 36

    /// Slots of the reader table that all processes share, 1 to 2^20: one per open snapshot, and a few that each
    /// process keeps. The first process to open the environment decides. Each takes 64 bytes of the lock file.
    public var maxReaders: UInt32 = 4094

    /// How many named databases can be opened: 0 to 65,535. Every transaction takes memory for each.
    public var maxDatabases: UInt32 = 0

    /// The durability of a commit.
    public var syncMode = SyncMode.full

    /// Opens for reading only; the files must exist.
    public var isReadOnly = false

    /// How many reads can run at once in this process, 1 to 65,536; further reads wait.
    public var readerPoolSize = 64

    /// Reader table slots that this process keeps after their snapshots end, because taking one costs microseconds. As
    /// many as reads can run in parallel on this machine.
    package var keptReaders = min(16, max(4, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))

    /// Whether a lock file separates readers and writers. Without it, no other process may have the files open
    /// (`MDB_NOLOCK`).
    package var usesLockFile = true

    /// Opens to look for a moment: accepts an environment of this process with any options, and openers with other
    /// options wait until it is closed.
    package var isBrief = false

    /// How long operations wait for each other.
    package var waits = Waits()

    public init() {}

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

extension Environment {
  /// The durability of a commit: whether it survives a power cut.
  public enum SyncMode: Sendable, Equatable {
    /// Flushes data and meta page: a commit that returned survives a power cut.
    case full
    /// Flushes data, and the meta page with the next commit (`MDB_NOMETASYNC`): a power cut may undo the last commit,
    /// but the file stays consistent.
    case noMetaSync
    /// Flushes nothing (`MDB_NOSYNC`): a power cut or system crash may damage the file; a process crash does not.
    case noSync
  }
}

extension Environment {
  /// How long operations wait for each other, in nanoseconds. Tests shorten them.
  package struct Waits: Sendable, Equatable {
    /// A read, for a free slot. Longer than ``map``, so that a nested read outlasts a map growth that gives up.
    package var read: UInt64 = 5_000_000_000
    /// The map's growth, for running reads and writes.
    package var map: UInt64 = 2_000_000_000
    /// The last close, for running operations.
    package var close: UInt64 = 10_000_000_000
    /// ``Environment/adopt(_:)``, for running operations; short because new reads wait for it.
    package var adoption: UInt64 = 250_000_000
    /// A write, or a read's first use of a slot, for other processes; `nil` for no limit.
    package var otherProcesses: UInt64?

    package init() {}
  }
}

extension Environment {
  /// Flushes committed transactions to disk (`mdb_env_sync`).
  ///
  /// - Parameter force: Flush even with ``SyncMode/noSync``.
  public func sync(force: Bool) throws(LMDBError) {
    try use("Environment.sync") { () throws(LMDBError) in try handle.sync(force: force) }
  }

  /// Frees the reader slots of dead processes (`mdb_reader_check`). Returns their number.
  public func checkReaders() throws(LMDBError) -> Int {
    try use("Environment.checkReaders") { () throws(LMDBError) in
      try changingReaderTable { () throws(LMDBError) in try handle.checkReaders() }
    }
  }

  /// The environment's sizes and numbers (`mdb_env_info`, `mdb_env_stat`).
  package func info() throws(LMDBError) -> Info {
    try use("Environment.info") { () throws(LMDBError) in try handle.info() }
  }

  /// Opens a named database, creating it if necessary (`mdb_dbi_open`).
  ///
  /// Waits for the write lock; the calling thread must not hold a write transaction. The handle is valid in all
  /// transactions that begin later, as long as the environment is open.
  ///
  /// - Throws: `.databasesFull` if there are more than ``Options/maxDatabases``; `.notFound` if the environment is
  ///   read-only and the database does not exist.
  public func openDatabase(named name: String) throws(LMDBError) -> Database {
    try lockWriter("Environment.openDatabase")
    defer { unlockWriter() }
    if let database = databases[name] {
      return database
    }
    if !options.isReadOnly { try takeWriterLock("Environment.openDatabase") }
    defer { if !options.isReadOnly { locks?.releaseWriter() } }
    let transaction = try beginAsWriter(flags: options.isReadOnly ? MDB_RDONLY : 0)
    let database: Database
    do throws(LMDBError) {
      database = try transaction.openDatabase(name: name, flags: options.isReadOnly ? 0 : MDB_CREATE)
    } catch {
      unsafe transaction.abort()
      throw error
    }
    // Even when read-only: an abort would close the handle again.
    try unsafe transaction.commit()
    databases[name] = database
    return database
  }

  /// Runs `body` while the environment cannot be closed and its map cannot move.
  func use<R>(_ operation: String, _ body: () throws(LMDBError) -> R) throws(LMDBError) -> R {
    var backoff = Backoff(limit: Int64(clamping: options.waits.read))
    while true {
      control.pointee.users.add(1, ordering: .sequentiallyConsistent)
      if control.pointee.current.isEmpty { break }
      control.pointee.users.subtract(1, ordering: .sequentiallyConsistent)
      try control.pointee.checkUsable(operation)
      guard backoff.pause() else { throw LMDBError(code: .busy, operation: operation) }
    }
    defer { control.pointee.users.subtract(1, ordering: .sequentiallyConsistent) }
    return try body()
  }
}

extension Environment {
  /// The state of an environment at one moment (`mdb_env_info` and `mdb_env_stat`).
  package struct Info: Sendable, Equatable {
    /// The map's size in bytes: the largest size the file can have.
    package var mapSize: Int
    /// The number of the last page in use; the file is `(lastPageNumber + 1) * pageSize` bytes long.
    package var lastPageNumber: Int
    /// The last committed transaction's number.
    package var lastTransactionID: UInt64
    /// Slots of the reader table, which all processes share.
    package var maxReaders: Int
    /// Slots that are or were in use.
    package var readersInUse: Int
    /// The main database's tree.
    package var main: Statistics
  }
}

/// The size of one database's tree (`mdb_stat`).
public struct Statistics: Sendable, Equatable {
  /// Page size in bytes.
  public var pageSize: Int
  /// Levels of the tree, 0 when empty.
  public var depth: Int
  public var branchPages: Int
  public var leafPages: Int
  /// Overflow pages, for values too large for a leaf.
  public var overflowPages: Int
  /// Number of keys.
  public var entries: Int

  /// Size of the tree in bytes.
  package var usedBytes: Int {
    branchPages.addingClamped(leafPages).addingClamped(overflowPages).multipliedClamped(by: pageSize)
  }

  /// The numbers of a file may be forged.
  init(_ statistics: MDB_stat) {
    (pageSize, depth) = (Int(statistics.ms_psize), Int(statistics.ms_depth))
    branchPages = max(0, statistics.ms_branch_pages)
    leafPages = max(0, statistics.ms_leaf_pages)
    overflowPages = max(0, statistics.ms_overflow_pages)
    entries = max(0, statistics.ms_entries)
  }
}

/// State of the environment's write transaction. A class, since changing a part of ``Control`` accesses all of it.
final class WriterState {
  /// A cursor over the main database, shared by updates: in a sorted batch the next key is usually on its current page
  /// and needs no descent.
  var cursor: CursorHandle?

  /// A change failed midway; the transaction must not be committed.
  var isDoomed = false

  func begin() { (cursor, isDoomed) = (nil, false) }

  /// Throws if an earlier change failed midway, as LMDB does for its own errors.
  @inline(__always)
  func checkNotDoomed(_ operation: @autoclosure () -> FaultInjection.Call) throws(LMDBError) {
    if _slowPath(isDoomed) { throw LMDBError(status: MDB_BAD_TXN, operation: operation()) }
  }

  /// The shared cursor, opened on first use in a transaction.
  func mainCursor(_ transaction: TransactionHandle) throws(LMDBError) -> CursorHandle {
    if let cursor { return cursor }
    let opened = try transaction.openCursor(.main)
    cursor = opened
    return opened
  }

  func closeCursor() {
    if let cursor { unsafe cursor.close() }
    cursor = nil
  }
}

/// A reference to an environment's ``Control`` at its stable address, without counting references, which would cost up to
/// a third of each change.
// @safe: the environment deallocates it as its last act, and every user of it keeps the environment alive.
@safe struct ControlReference: Equatable {
  private let pointer: UnsafeMutablePointer<Control>

  init(to control: consuming Control) {
    unsafe pointer = .allocate(capacity: 1)
    unsafe pointer.initialize(to: control)
  }

  var pointee: Control { @inline(__always) unsafeAddress { unsafe UnsafePointer(pointer) } }

  static func == (first: Self, second: Self) -> Bool { unsafe first.pointer == second.pointer }

  @unsafe func deallocate() {
    unsafe pointer.deinitialize(count: 1)
    unsafe pointer.deallocate()
  }
}

/// The environment's state for transactions. Outlives every one of them.
struct Control: ~Copyable {
  /// Reasons to refuse operations; 0 while the environment is open.
  struct Gate: OptionSet {
    let rawValue: UInt32
    /// The map is about to move: control operations wait.
    static let pausesUsers = Gate(rawValue: 1)
    /// The map is about to move: reads wait.
    static let pausesReaders = Gate(rawValue: 2)
    static let closed = Gate(rawValue: 4)
    /// The map was lost in a failed resize, or the files could not be reopened. See ``Environment/reopen()``.
    static let broken = Gate(rawValue: 16)
    /// The C environment was closed and freed.
    static let finished = Gate(rawValue: 32)
    /// The file is damaged and must not be read any more.
    static let damaged = Gate(rawValue: 64)

    /// Permanent reasons.
    static let unusable: Gate = [.closed, .broken, .damaged]
  }

  /// Operations read this after announcing themselves (in a reader slot or in ``users``); closers write it before
  /// scanning those. Both are sequentially consistent, so at least one side sees the other.
  let gate = Atomic<UInt32>(0)

  /// Running control operations: all except reads and writes.
  let users = Atomic<Int>(0)

  /// The thread that holds the write transaction, 0 if none.
  let writerThread = Atomic<UInt>(0)

  /// The generation of the environment's files, counted by ``Environment/adopt(_:)``, above the 44 bits of a
  /// transaction number: see ``Environment/position(of:)``.
  let generation = Atomic<UInt64>(0)
  static let nextGeneration: UInt64 = 1 << 44

  /// Address and pages of LMDB's map; 0 while unknown. Changed only while no operation runs, or to the same value.
  let map = Atomic<UInt>(0)
  let mapPages = Atomic<UInt64>(0)

  /// Survives a change of the environment's files: see ``PathHints``.
  let hints = PathHints()

  let metaPages: MetaPages

  /// Guarded by the environment's `writerMutex`.
  let writer = WriterState()

  init(_ metaPages: consuming MetaPages) { self.metaPages = metaPages }

  @inline(__always)
  var current: Gate { Gate(rawValue: gate.load(ordering: .sequentiallyConsistent)) }

  func raise(_ bits: Gate) { gate.bitwiseOr(bits.rawValue, ordering: .sequentiallyConsistent) }

  func lower(_ bits: Gate) { gate.bitwiseAnd(~bits.rawValue, ordering: .sequentiallyConsistent) }

  /// Throws if the environment is no longer usable.
  ///
  /// - Parameter except: Reasons to ignore.
  func checkUsable(_ operation: String, except: Gate = []) throws(LMDBError) {
    let gate = current.intersection(.unusable).subtracting(except)
    if gate.isEmpty { return }
    let code: LMDBError.Code = gate.contains(.closed) ? .closed : gate.contains(.damaged) ? .corrupted : .panic
    throw LMDBError(code: code, operation: operation)
  }

  // MARK: The map

  /// Derives the map's address from a value in it, as LMDB does not provide it. The caller's snapshot keeps the map in
  /// place.
  func learnMap(of value: UnsafeRawBufferPointer, _ transaction: TransactionHandle) {
    #if _endian(little)
      let pageSize = metaPages.pageSize
      guard pageSize == MemoryMap.pageSize else { return }
      let size: Int
      do throws(LMDBError) { size = try transaction.environment.info().mapSize } catch { return }
      let pages = UInt64(size / pageSize)
      // A value lies in a page that begins with its own number, or after the page that does.
      let page = UInt(bitPattern: value.baseAddress) & ~UInt(pageSize - 1)
      guard let number = unsafe UnsafePointer<UInt64>(bitPattern: page)?.pointee, number >= 2, number < pages,
        page / UInt(pageSize) > number
      else { return }
      let base = page - UInt(number) * UInt(pageSize)
      guard metaPages.isShown(at: base) else { return }
      mapPages.store(pages, ordering: .relaxed)
      map.store(base, ordering: .releasing)
    #endif
  }

  /// Called before the map moves, while it is unused.
  func forgetMap() { map.store(0, ordering: .releasing) }
}
