import LMDB
import Logging
import Synchronization

/// The disk tier's engine: one per directory and process, shared by every cache opened on it.
///
/// Threads: all functions may be called from any thread. A set archives on the caller, appends to the
/// journal and returns; one writer thread commits journal segments to LMDB, each as one transaction. Readers
/// look into the segments that are not committed yet, then into LMDB.
///
/// The parts: `+Opening`, `+Reading`, `+Writing`, `+Committing` (the writer thread), `+Trimming`, `+Replay`
/// (journals of dead processes), `+Enumeration`, `+ValueFiles`.
// Sendable: `state` and what it holds are touched with `lock` held only, but for sealed segments, which
// nobody changes while the writer thread reads them; the rest is immutable or atomic.
final class DiskStore: @unchecked Sendable {
  let directory: String
  let environment: Environment
  let durability: Durability
  let clock: CacheClock
  let logger: Logger
  let databaseKey: DatabaseKey
  let files: ValueFiles
  let inlineThreshold: Int
  let journalSize: Int
  let groupCommitNanoseconds: Int64
  let tracker: TransactionTracker
  let recency = RecencyTable()
  let limits: Mutex<DiskLimits>
  let counters = DiskCounters()
  let processLock: ProcessLock

  let lock = ConditionLock()
  var state = State()
  /// Whether anything waits to be committed; readers skip the lock when nothing does.
  let hasPending = Atomic<Bool>(false)
  let observerCount = Atomic<Int>(0)
  let isTrimQueued = Atomic<Bool>(false)

  struct State: ~Copyable {
    var journal: JournalFile?
    /// The segment that writes are appended to; nil before the first write.
    var active: JournalSegment?
    var spare: [JournalSegment] = []
    /// Full segments, oldest first: the writer thread commits them.
    var sealed: [JournalSegment] = []
    /// Counts segments as they are made active; the active one's number is the latest.
    var lastNumber = 0
    /// Every segment up to this number is committed.
    var committedNumber = 0
    /// Segments up to this number are to be committed at once.
    var requestedNumber = 0

    var lastStamp: UInt64 = 0
    var stampBase: UInt64 = 0
    var observers: [any DiskStoreObserver] = []

    /// Work for the writer thread, oldest first.
    var jobs: [@Sendable () -> Void] = []
    var failure: CommitFailure?
    /// Keys written while nothing could be recorded: the disk's value under them is stale.
    var unrecorded = UnrecordedKeys()
    var openers = 1
    var isStopping = false
    var isClosed = false
  }

  init(opening opened: Opened, configuration: CacheConfiguration, databaseKey: DatabaseKey) {
    directory = opened.directory
    environment = opened.environment
    processLock = opened.processLock
    durability = configuration.durability
    clock = configuration.clock
    logger = configuration.logger
    self.databaseKey = databaseKey
    files = ValueFiles(cacheDirectory: opened.directory)
    inlineThreshold = configuration.inlineThreshold
    journalSize = configuration.journalSize
    groupCommitNanoseconds = configuration.groupCommitInterval.clampedNanoseconds
    tracker = TransactionTracker(lastTransactionID: opened.lastTransactionID)
    limits = Mutex(DiskLimits(configuration))
    state.stampBase = opened.metadata.stampBase
    state.lastStamp = opened.metadata.lastStamp
  }

  // MARK: Observers

  func add(_ observer: any DiskStoreObserver) {
    lock.withLock {
      state.observers.append(observer)
      observerCount.store(state.observers.count, ordering: .releasing)
    }
  }

  func remove(_ observer: any DiskStoreObserver) {
    lock.withLock {
      state.observers.removeAll { $0 === observer }
      observerCount.store(state.observers.count, ordering: .releasing)
    }
  }

  /// The id of the last transaction of another process. Not to be called once the store is closed.
  @inline(__always)
  var foreignEpoch: UInt64 {
    tracker.foreignEpoch(lastTransactionID: environment.lastTransactionIDUnchecked())
  }

  var health: CacheHealth {
    lock.withLock {
      if state.isClosed { return .closed }
      return if let failure = state.failure { .memoryOnly(failure.error) } else { .healthy }
    }
  }

  /// Nanoseconds since 1970 to whole seconds, as records hold them.
  static func seconds(_ nanoseconds: Int64) -> UInt32 { UInt32(clamping: nanoseconds / 1_000_000_000) }
}

/// Why the last commit failed, and when it is tried again.
struct CommitFailure {
  var error: CacheError
  var attempts: Int
  /// On the monotonic clock, in nanoseconds.
  var retryAt: Int64
}

/// The keys written while the journal could take no more; bounded.
struct UnrecordedKeys {
  static let maximum = 65_536
  private(set) var keys: Set<[UInt8]> = []
  /// Every key counts as unrecorded.
  private(set) var isEverything = false

  var isEmpty: Bool { keys.isEmpty && !isEverything }

  mutating func insert(_ key: UnsafeRawBufferPointer) {
    if isEverything { return }
    keys.insert(Array(key))
    if keys.count > Self.maximum { insertEverything() }
  }

  mutating func insertEverything() {
    keys = []
    isEverything = true
  }

  func contains(_ key: UnsafeRawBufferPointer) -> Bool { isEverything || keys.contains(Array(key)) }
}
