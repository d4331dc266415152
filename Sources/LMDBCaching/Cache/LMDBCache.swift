public import Foundation
import LMDB
import Logging
import Platform
import Synchronization

/// A cache of two tiers: memory, and a directory on the disk that survives the process and can be shared by processes.
///
/// A read looks into memory, then on the disk, and keeps values from the disk in memory. A write goes to both tiers
/// before it returns. From then on it survives the death of the process, unless the disk is full or fails;
/// ``Durability`` covers power cuts.
///
/// Keys are any strings, compared by their UTF-8 bytes. (Swift's `==` ignores Unicode normalization; two tiers that
/// disagree on it would lose values.) Values of different types can be stored side by side.
///
/// **Threads.** Call every function from any thread; none calls back with a lock held. A read that follows a write on
/// the same thread sees it. Other processes see a write when it is committed: within
/// ``CacheConfiguration/Disk/groupCommitInterval`` after it returned, plus the time of the commit, which may wait for
/// another process's commit or an update. The uncommitted writes of a process that died become visible about a second
/// after its death, and at once to processes that open the cache then. A read never goes back to an older value. One
/// process's writes of a key keep their order; writes of two processes are ordered by their commits. For more, use
/// ``flush()``, ``write(waitsForCommit:_:)``, ``update(_:forKey:expires:cost:_:)`` and its siblings, or
/// ``Durability/full``.
///
/// **Deleted files.** The files may be deleted or replaced while the cache is open, by a cleaner of caches for example.
/// Every process compares them with its open files before each commit and about every second, then switches to the new
/// files or creates them. Values committed to the old files disappear from memory too; uncommitted ones are kept.
/// Writes of the last second are lost if the process dies before its next commit. If another program truncates a file,
/// reading past its end raises SIGBUS until that is noticed.
///
/// **Suspended processes.** A suspended process that holds a lock only delays the commits of the others: see
/// ``CacheConfiguration/Disk/lockTimeout``. One that is suspended in a snapshot (``read(_:)``) keeps its pages from
/// reuse, so the file grows with every commit up to ``CacheConfiguration/Disk/mapSize`` and the limits. Programs that
/// write to the database with LMDB directly get none of these guarantees.
///
/// **Errors.** An unreadable entry is an error and stays in place. While the disk is full or fails, writes are kept in a
/// few megabytes of memory, and committed when there is room; ``health`` reports it. Other processes do not see them, and
/// they are lost if the process dies. When that memory is full, writes throw and change nothing.
public final class LMDBCache: Sendable {
  let store: DiskStore
  let configuration: CacheConfiguration
  let reader: RecordReader
  let events: EventLog
  /// The memory tier: its limits, counts and trims.
  public let memory: MemoryTier
  /// ``memory``, or `nil` if it is off: then it only counts changes and notifies loads.
  let tier: MemoryTier?
  let background = BackgroundQueue()
  let observers = ChangeObservers()
  let loadPauses = LoadPauses()
  let refreshes = Mutex<Set<ByteKey>>([])
  private let coding: Mutex<ObjectCoding>
  private let isClosed = Atomic<Bool>(false)
  private let isReadFailureLogged = Atomic<Bool>(false)
  /// Whether ``memory`` learns of writes although it is off; `nil` once closed.
  private let notesWrites = Mutex<Bool?>(false)
  let maintenance = Mutex(MaintenanceTimer())

  var loadCounters: LoadCounters { memory.loadCounters }

  struct MaintenanceTimer {
    var interval: Duration = .seconds(60)
    var timer: CacheTimer?
  }

  /// Opens or creates the cache `name` of this program in one of the user's directories.
  ///
  /// The directory is `<user's directory>/<program>/<name>`, where the program is the main bundle's identifier, or the
  /// executable's name without a bundle.
  ///
  /// - Parameters:
  ///   - name: One path component.
  ///   - place: ``UserDirectory/caches`` for data that can be rebuilt, ``UserDirectory/data`` for data that must stay.
  ///   - configuration: `nil` for the defaults, in ``UserDirectory/data`` without limits of the disk tier.
  /// - Throws: as ``init(directory:configuration:)``.
  public convenience init(
    name: String, in place: UserDirectory = .caches, configuration: CacheConfiguration? = nil
  ) throws(CacheError) {
    try self.init(directory: place.url(named: name), configuration: configuration ?? .standard(in: place))
  }

  /// Opens or creates the cache in a directory.
  ///
  /// Opening a directory again in one process shares the disk tier, and requires the same
  /// ``CacheConfiguration/durability``, ``CacheConfiguration/disk`` (a limit may also be its changed value) and
  /// ``CacheConfiguration/clock``. Everything else belongs to each object: memory tier, loading, archiving, transforms
  /// and log. The disk tier logs to the logger of the first one.
  ///
  /// - Throws: ``CacheError`` with `.invalidArgument`, `.invalidDirectory`, `.insecureDirectory`, `.permissionDenied`,
  ///   `.readOnlyFileSystem`, `.remoteFileSystem`, `.durabilityMismatch`, `.configurationMismatch`, `.unsupportedVersion`,
  ///   `.processNamespaceMismatch`, `.lockTimeout`, `.busy`, `.noSpace` or `.storageFailed`; `.corruptedRecord` for a
  ///   database of another program; `.damagedDatabase` for a damaged cache that other processes have open, or that
  ///   ``CacheConfiguration/Disk/recoversFromDamage`` keeps from repair. Any other damaged one is set aside and
  ///   recreated: see ``recovery``.
  public init(directory: URL, configuration: CacheConfiguration = CacheConfiguration()) throws(CacheError) {
    guard directory.isFileURL else {
      throw CacheError(.invalidArgument, "\(directory) is no file URL; make one with URL(fileURLWithPath:).")
    }
    self.configuration = configuration
    let store = try DiskStore.open(directory: directory.path, configuration: configuration)
    self.store = store
    reader = store.records.reader(through: ValueTransforms(transforms: configuration.valueTransforms))
    events = EventLog(configuration.logger)
    coding = Mutex(configuration.objectCoding)
    // The store's own clock: the tiers agree on the time, which never goes back.
    memory = MemoryTier(configuration, clock: store.clock)
    tier = configuration.memory.isOff ? nil : memory
    if tier != nil { store.observers.add(memory) }
    disk.autoTrimInterval = .seconds(60)
  }

  /// Makes a full cache for tests and previews, in its own temporary directory.
  ///
  /// The directory is removed when the cache is closed or released. If the process dies, the system cleans it up.
  ///
  /// - Parameter configuration: Its durability is replaced by ``Durability/fast``. With a ``ManualClock`` a test
  ///   decides when entries expire.
  /// - Throws: as ``init(directory:configuration:)``.
  public static func temporary(
    configuration: CacheConfiguration = CacheConfiguration()
  ) throws(CacheError) -> LMDBCache {
    var configuration = configuration
    configuration.durability = .fast
    configuration.removesDirectory = true
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("lmdb-cache-\(UUID())")
    return try LMDBCache(directory: directory, configuration: configuration)
  }

  deinit {
    do throws(CacheError) {
      try close()
    } catch {
      configuration.logger.error("cache not closed cleanly", metadata: ["error": "\(error)"])
    }
  }

  /// The directory, in its canonical form.
  public var directory: URL { URL(fileURLWithPath: store.directory, isDirectory: true) }

  /// The disk tier: its limits and trims.
  public var disk: DiskTier { DiskTier(cache: self) }

  // MARK: Life cycle

  /// Commits pending writes and closes this object; later calls throw ``CacheError/Code/closed``, except another
  /// `close()`. The files are closed with the last cache of this process on the directory. Releasing the object closes
  /// it too; writes are safe without a call.
  ///
  /// - Throws: `.notCommitted` if the last writes could not be committed: they are in the journal, or lost if its file
  ///   could not take them. The cache is closed anyway.
  public func close() throws(CacheError) {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    memory.close()
    // Running loads are no longer notified of writes.
    store.journal.lock.withLock { memory.loads.close() }
    notesWrites.withLock { notes in
      notes = nil
      store.observers.remove(memory)
    }
    let timer = maintenance.withLock { $0.timer.take() }
    timer?.cancel()
    observers.end(store.feed)
    defer { events.drain() }
    try store.release()
  }

  /// From now on ``memory`` learns of writes; loads and properties need it even if it is off.
  func noteWrites() {
    if tier != nil { return }
    notesWrites.withLock { notes in
      guard notes == false else { return }
      store.observers.add(memory)
      notes = true
    }
  }

  func checkOpen() throws(CacheError) {
    if isClosed.load(ordering: .relaxed) { throw .closed }
  }

  /// Makes all earlier writes safe from a power cut, in every durability mode.
  ///
  /// - Throws: `.notCommitted` while commits fail; they are retried. `.closed`.
  public func flush() throws(CacheError) {
    try checkOpen()
    try store.flush()
  }

  /// Commits all earlier writes; waits for the disk only as the durability requires.
  func commitPending() throws(CacheError) {
    try checkOpen()
    try store.commitPending()
  }

  // MARK: State

  /// The state of the disk tier.
  public var health: CacheHealth { isClosed.load(ordering: .relaxed) ? .closed : store.health }

  /// The damage that opening set aside, or `nil`. Only the process that repaired it reports it.
  public var recovery: CacheRecovery? { store.recovery }

  /// Counters of this object's memory tier and the directory's disk tier since they were opened, and the use of the
  /// files. Reads the files, which takes some microseconds.
  public var statistics: CacheStatistics {
    var statistics = CacheStatistics()
    store.counters.add(to: &statistics)
    store.journal.writes.add(to: &statistics)
    answer(()) { () throws(CacheError) in
      try checkOpen()
      try store.addSpace(to: &statistics)
    }
    memory.add(to: &statistics)
    return statistics
  }

  /// ``CacheStatistics/diskHits`` without reading the files.
  package var diskHits: Int {
    var statistics = CacheStatistics()
    store.counters.add(to: &statistics)
    return statistics.diskHits
  }

  /// Number of entries on the disk, including expired ones until they are removed. Commits pending writes, without a
  /// scan.
  public var count: Int {
    get throws(CacheError) {
      try checkOpen()
      return try store.count()
    }
  }

  /// The sum of the entries' costs; see ``count``.
  public var totalCost: Int {
    get throws(CacheError) {
      try checkOpen()
      return try store.totalCost()
    }
  }

  /// Returns the result of `read`, or `fallback` if it throws; logs the error once until a read succeeds.
  func answer<R>(_ fallback: R, _ read: () throws(CacheError) -> R) -> R {
    do throws(CacheError) {
      let result = try read()
      if isReadFailureLogged.load(ordering: .relaxed) { isReadFailureLogged.store(false, ordering: .relaxed) }
      return result
    } catch {
      if error.code != .closed, !isReadFailureLogged.exchange(true, ordering: .relaxed) {
        configuration.logger.warning(
          "cache cannot be read and answers as if it were empty",
          metadata: ["directory": "\(store.directory)", "error": "\(error)"])
      }
      return fallback
    }
  }

  /// How objects are archived.
  public var objectCoding: ObjectCoding {
    get { coding.withLock { $0 } }
    set {
      // The old closures are released after the lock, since their `deinit` may use the cache.
      let old = coding.withLock { coding in
        defer { coding = newValue }
        return coding
      }
      withExtendedLifetime(old) {}
    }
  }

  // MARK: Trimming

  /// Removes entries from both tiers until each is within `target`; see ``DiskTier/trim(to:)``.
  public func trim(to target: TrimTarget) throws(CacheError) {
    try disk.trim(to: target)
    memory.trim(to: target)
  }
}

/// The disk tier of an ``LMDBCache``: limits and trims. Limits belong to the directory: all caches of this process on it
/// share them.
public struct DiskTier: Sendable {
  let cache: LMDBCache

  private var store: DiskStore { cache.store }

  /// The maximum number of entries. Enforced in the background every ``autoTrimInterval``, at once when exceeded by a
  /// tenth, and by ``trim(to:)``. A negative number means no limit, `Int.max`, as in all limits.
  ///
  /// The least recently accessed entries go first. One with several accesses at separate times stays up to four times
  /// as long.
  public var countLimit: Int {
    get { store.trimmer.limits.withLock { $0.countLimit } }
    nonmutating set { store.trimmer.limits.withLock { $0.countLimit = newValue < 0 ? .max : newValue } }
  }

  /// The maximum total cost; see ``countLimit``.
  public var costLimit: Int {
    get { store.trimmer.limits.withLock { $0.costLimit } }
    nonmutating set { store.trimmer.limits.withLock { $0.costLimit = newValue < 0 ? .max : newValue } }
  }

  /// How long after its last access an entry stays; `nil` for no limit. Accesses are recorded to the minute.
  public var ageLimit: Duration? {
    get { store.trimmer.limits.withLock { $0.ageLimit } }
    nonmutating set { store.trimmer.limits.withLock { $0.ageLimit = newValue.flatMap { $0 < .zero ? nil : $0 } } }
  }

  /// Bytes to leave free on the volume; 0 for no limit. When there are fewer, entries go in the order of
  /// ``countLimit``. Freed space is reused. It returns to the volume when more than half of a segment of the value log,
  /// or of the database's file, is free.
  public var freeSpaceLimit: Int {
    get { store.trimmer.limits.withLock { $0.freeSpaceLimit } }
    nonmutating set { store.trimmer.limits.withLock { $0.freeSpaceLimit = max(0, newValue) } }
  }

  /// How often limits are checked and maintenance runs in the background; 60 s by default. Zero or less: never.
  public var autoTrimInterval: Duration {
    get { cache.maintenance.withLock { $0.interval } }
    nonmutating set {
      let timer =
        newValue > .zero
        ? store.clock.repeating(every: newValue) { [weak store] in store?.maintenance.enqueue() } : nil
      let old = cache.maintenance.withLock { maintenance in
        maintenance.interval = newValue
        defer { maintenance.timer = timer }
        return maintenance.timer.take()
      }
      old?.cancel()
    }
  }

  /// Values with more bytes than this are in the value log.
  public var inlineThreshold: Int { store.inlineThreshold }

  /// The size of the cache's files on the disk in bytes, including the journal.
  public var size: Int {
    get throws(CacheError) {
      try cache.checkOpen()
      return try store.bytesOnDisk()
    }
  }

  /// Removes expired entries, then others in the order of ``countLimit`` until the tier is within `target`; returns when
  /// done. Readers are not blocked; writers wait no longer than one small transaction.
  ///
  /// - Throws: `.invalidArgument` for a negative target; `.closed`, `.storageFailed` and similar.
  public func trim(to target: TrimTarget) throws(CacheError) {
    try target.check()
    try cache.checkOpen()
    switch target {
    case .limits: try store.trimToLimits()
    case .count(let count): try store.trim(to: TrimGoal(count: count))
    case .cost(let cost): try store.trim(to: TrimGoal(cost: cost))
    case .age(let age):
      let (oldest, overflow) = store.clock.now.subtractingReportingOverflow(age.clampedNanoseconds)
      if !overflow { try store.trim(to: TrimGoal(lastAccess: RecordHeader.seconds(oldest))) }
    }
  }
}
