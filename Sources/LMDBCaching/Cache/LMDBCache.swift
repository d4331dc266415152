public import Foundation
import LMDB
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
/// **Errors.** An unreadable entry is an error and stays in place. When the disk is full or fails, the cache continues
/// in memory and ``health`` reports it; unrecorded writes are lost if the process dies, and older entries may reappear.
/// With ``Durability/full`` writes throw then and change nothing; batches and removals by tag always do.
public final class LMDBCache: Sendable {
  let store: DiskStore
  /// The memory tier: its limits, counts and trims.
  public let memoryCache: MemoryTier
  /// The disk tier. This cache sees everything written through it.
  public let diskCache: DiskCache
  var loadCounters: LoadCounters { memoryCache.loadCounters }
  let loadPauses = LoadPauses()
  let refreshes = Mutex<Set<ByteKey>>([])
  var background: BackgroundQueue { diskCache.background }

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
    diskCache = try DiskCache(directory: directory, configuration: configuration)
    store = diskCache.store
    // The store's own clock: the tiers agree on the time, which never goes back.
    memoryCache = MemoryTier(configuration, clock: store.clock)
    store.add(memoryCache)
  }

  deinit { tearDown() }

  /// The directory, in its canonical form.
  public var directory: URL { diskCache.directory }

  /// Commits pending writes and closes this object; later calls throw ``CacheError/Code/closed``, except another
  /// `close()`. The files are closed with the last cache of this process on the directory. Releasing the object closes
  /// it too; recorded writes are safe without a call.
  ///
  /// - Throws: `.notCommitted` if the last writes could not be committed; they are in the journal. `.noSpace` or
  ///   `.storageFailed` if a write since the last ``flush()`` could not be recorded and is lost. The cache is closed
  ///   anyway.
  public func close() throws(CacheError) {
    tearDown()
    try diskCache.close()
  }

  private func tearDown() {
    memoryCache.close()
    // Running loads are no longer notified of writes.
    store.journal.lock.withLock { memoryCache.loads.close() }
    store.remove(memoryCache)
  }

  /// Makes all earlier writes safe from a power cut, in every durability mode.
  ///
  /// - Throws: `.notCommitted` while commits fail; they are retried. Once, `.noSpace` or `.storageFailed` if a write
  ///   since the last call could not be recorded and is in memory only. `.closed`.
  public func flush() throws(CacheError) { try diskCache.flush() }

  /// The state of the disk tier.
  public var health: CacheHealth { diskCache.health }

  /// The damage that opening set aside, or `nil`. See ``DiskCache/recovery``.
  public var recovery: CacheRecovery? { diskCache.recovery }

  /// Counters of this object and its disk tier since they were opened, and the use of the files.
  public var statistics: CacheStatistics {
    var statistics = diskCache.statistics
    memoryCache.add(to: &statistics)
    return statistics
  }

  /// Number of entries on the disk, including expired ones until they are removed. Commits pending writes, without a
  /// scan. 0 if the cache is closed or unreadable, which is logged.
  public var count: Int { diskCache.count }

  /// The sum of the entries' costs; see ``count``.
  public var totalCost: Int { diskCache.totalCost }

  /// Returns ``count``, but throws if it is unavailable.
  public func entryCount() throws(CacheError) -> Int { try diskCache.entryCount() }

  /// Returns ``totalCost``, but throws if it is unavailable.
  public func totalEntryCost() throws(CacheError) -> Int { try diskCache.totalEntryCost() }
}

extension LMDBCache {
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
}

// YYCache's functions for objects that conform to NSCoding. Unlike YYCache's they throw errors.

extension LMDBCache {
  /// Returns whether an object exists under `key`. Does not count as an access. Returns `false` if that cannot be
  /// determined; ``containsValue(forKey:)`` throws then.
  public func containsObject(forKey key: String) -> Bool { contains(key) }

  /// Returns the object under `key`, or `nil` if it is missing or has expired.
  ///
  /// The memory tier returns the stored instance. An object from the disk is a new instance, which is kept in memory.
  /// Standard values stored with ``set(_:forKey:expiresIn:cost:)`` are returned as Foundation's objects.
  public func object(forKey key: String) throws(CacheError) -> (any NSCoding)? {
    if let found = try memoryValue(of: ObjectIdentifier(SharedObject.self), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<SharedObject>.self).value.object
    }
    try diskCache.checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    return try CacheKey.with(key) { (key) throws(CacheError) in
      let token = memoryCache.token(key)
      guard let record = try diskCache.reader.readData(key) else {
        return (try memoryCache.valueAlone(key, in: store)?.any as? SharedObject)?.object
      }
      let object = try ObjectArchiver.object(
        from: record.payload, format: record.header.format, with: diskCache.objectCoding, forKey: key.string)
      memoryCache.keep(
        TypedMemoryValue(SharedObject(object: object)), key, record, token: token)
      return object
    }
  }

  /// Stores an object under `key`, or removes the entry if it is `nil`.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.setObject(object, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Stores an object if the key is free, and returns whether it did.
  @discardableResult
  public func setObjectIfAbsent(
    _ object: any NSCoding, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) -> Bool {
    try diskCache.setObjectIfAbsent(object, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Removes the object under `key`, if it exists.
  public func removeObject(forKey key: String) throws(CacheError) { try removeValue(forKey: key) }

  /// Removes every object.
  public func removeAllObjects() throws(CacheError) { try removeAll() }
}

// The background forms of the functions in `LMDBCache+Objects`.
//
// Writes run in the order of the calls, and reads see the writes of earlier calls. Direct calls do not wait for them.

extension LMDBCache {
  // MARK: With a completion, which is called on a background queue

  /// Calls `completion` with the key and whether there is an object under it.
  public func containsObject(forKey key: String, completion: @escaping @Sendable (String, Bool) -> Void) {
    background.run(.read) { [self] in
      containsObject(forKey: key)
    } completion: {
      completion(key, $0)
    }
  }

  /// Calls `completion` with the key and the object under it, or the error.
  public func object(
    forKey key: String, completion: @escaping @Sendable (String, Result<(any NSCoding)?, CacheError>) -> Void
  ) {
    background.run(.read) { [self] in
      sharedObject(forKey: key)
    } completion: {
      completion(key, $0.map { $0?.object })
    }
  }

  /// Stores the object in the background, then calls `completion` with the error, if any.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    completion: @escaping @Sendable (CacheError?) -> Void
  ) {
    let shared = object.map { SharedObject(object: $0) }
    background.report(
      .write,
      { [self] () throws(CacheError) in try setObject(shared?.object, forKey: key, expiresIn: expiresIn, cost: cost) },
      completion: completion)
  }

  /// Removes the object in the background, then calls `completion` with the key and the error, if any.
  public func removeObject(forKey key: String, completion: @escaping @Sendable (String, CacheError?) -> Void) {
    background.report(.write, { [self] () throws(CacheError) in try removeObject(forKey: key) }) { completion(key, $0) }
  }

  /// Removes every object in the background, then calls `completion` with the error, if any.
  public func removeAllObjects(completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.write, { [self] () throws(CacheError) in try removeAllObjects() }, completion: completion)
  }

  /// Removes every object in the background.
  ///
  /// - Parameters:
  ///   - progress: Called at the start and the end with the numbers of removed and of all entries; the database drops
  ///     all at once.
  ///   - completion: Called last, with the error, if any.
  public func removeAllObjects(
    progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)?,
    completion: (@Sendable (CacheError?) -> Void)?
  ) {
    diskCache.removeAllObjects(progress: progress, completion: completion) { [self] () throws(CacheError) in
      try removeAllObjects()
    }
  }

  // MARK: For tasks. The work is done on a background queue, not on the caller's executor.

  /// See ``removeAllObjects()``.
  public nonisolated(nonsending) func removeAllObjects() async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAllObjects() }
  }

  private func sharedObject(forKey key: String) -> Result<SharedObject?, CacheError> {
    outcome { () throws(CacheError) in try object(forKey: key).map { SharedObject(object: $0) } }
  }
}
