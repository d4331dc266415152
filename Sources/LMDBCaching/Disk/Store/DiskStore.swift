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
/// (journals of dead processes), `+Enumeration`, `+ValueFiles`, `+Reopening` (files that somebody deletes).
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
  let transforms: ValueTransforms
  let journalSize: Int
  let groupCommitNanoseconds: Int64
  let tracker: TransactionTracker
  let recency = RecencyTable()
  let limits: Mutex<DiskLimits>
  let counters = DiskCounters()
  let feed: ChangeFeed
  let metrics: CacheMetrics
  let configuration: CacheConfiguration
  /// Where the files were when they were opened: see `+Reopening`.
  let place: Mutex<StorePlace>

  let lock = ConditionLock()
  /// Behind a pointer: the run-time exclusivity check of a class's own property costs as much as the lock.
  private let stateMemory: UnsafeMutablePointer<State>
  var state: State {
    @inline(__always) unsafeAddress { UnsafePointer(stateMemory) }
    @inline(__always) unsafeMutableAddress { stateMemory }
  }
  /// Whether anything waits to be committed; readers skip the lock when nothing does.
  let hasPending = Atomic<Bool>(false)
  let observerCount = Atomic<Int>(0)
  let isTrimQueued = Atomic<Bool>(false)
  /// The file is damaged, and not used any more.
  let isDistrusted = Atomic<Bool>(false)
  /// Whether the writer thread is going to open files again that LMDB gave up on.
  let isRevivalQueued = Atomic<Bool>(false)
  /// What opening had to set aside.
  let recovery: CacheRecovery?
  /// The transaction that the segments up to `State.committingNumber` are being committed by; 0: not begun, or over.
  let committingTransaction = Atomic<UInt64>(0)
  /// Of the writer thread only.
  var isCommitting = false
  /// The stamp of the last write of the journal that is in the database. The writer thread's.
  var watermark: UInt64 = 0
  /// Of the writer thread, and of opening before that: why a dead process's journal could not be applied.
  var replayFailure: LMDBError?

  struct State: ~Copyable {
    var journal: JournalFile?
    /// The segment that writes are appended to; nil before the first write.
    var active: JournalSegment?
    var spare: [JournalSegment] = []
    /// The stamp of the last frame in the segments that were active before.
    var lastFrameStamp: UInt64 = 0
    /// Full segments, oldest first: the writer thread commits them.
    var sealed: [JournalSegment] = []
    /// Counts segments as they are made active; the active one's number is the latest.
    var lastNumber = 0
    /// Every segment up to this number is committed.
    var committedNumber = 0
    /// Every segment up to this number is being committed, or is committed.
    var committingNumber = 0
    /// Segments up to this number are to be committed at once.
    var requestedNumber = 0

    var lastStamp: UInt64 = 0
    var stampBase: UInt64 = 0
    var observers: [any DiskStoreObserver] = []

    /// With ``Durability/ordered``: value files that the last commit made superfluous. A power cut may undo it, so they
    /// stay until the next one, or a sync, has made it durable.
    var replacedFiles: [ValueFileReference] = []

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
    stateMemory = .allocate(capacity: 1)
    stateMemory.initialize(to: State())
    directory = opened.directory
    environment = opened.environment
    feed = ChangeFeed(opened.environment)
    recovery = opened.recovery
    if opened.recovery != nil { counters.recoveries.increment() }
    place = Mutex(opened.place)
    self.configuration = configuration
    durability = configuration.durability
    clock = configuration.clock
    logger = configuration.logger
    self.databaseKey = databaseKey
    metrics = CacheMetrics(directory: opened.directory)
    files = ValueFiles(cacheDirectory: opened.directory)
    inlineThreshold = configuration.disk.inlineThreshold
    transforms = ValueTransforms(transforms: configuration.valueTransforms)
    journalSize = configuration.disk.journalSize
    groupCommitNanoseconds = configuration.disk.groupCommitInterval.clampedNanoseconds
    tracker = TransactionTracker(lastTransactionID: opened.lastTransactionID)
    limits = Mutex(DiskLimits(configuration))
    state.stampBase = opened.metadata.stampBase
    state.lastStamp = opened.metadata.lastStamp
  }

  deinit {
    stateMemory.deinitialize(count: 1)
    stateMemory.deallocate()
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

  /// The id of the last transaction of another process. It can still be read when the store is closed.
  @inline(__always)
  var foreignEpoch: UInt64 {
    tracker.foreignEpoch(lastTransactionID: environment.lastPosition())
  }

  /// As of which transaction an entry in memory has to be current.
  @inline(__always)
  var requiredEpoch: UInt64 {
    tracker.requiredEpoch(lastTransactionID: environment.lastPosition())
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
