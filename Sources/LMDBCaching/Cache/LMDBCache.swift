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
