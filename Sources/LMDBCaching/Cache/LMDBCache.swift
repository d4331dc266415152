public import Foundation
import LMDB
import Synchronization

/// A cache of two tiers: memory, and a directory on the disk that survives the process and may be shared with
/// others.
///
/// A read looks into memory, then on the disk; what it finds there it keeps in memory. A write goes to both
/// before it returns, and then survives the death of the process, unless the disk is full or fails (see ``Durability``,
/// also for power cuts).
///
/// Keys are any strings; two keys are the same if their UTF-8 is, byte for byte. (Swift's `==` takes "é" in one
/// and in two scalars for the same; two tiers that disagree on it would lose values.) Values of different types
/// can be stored side by side.
///
/// **Threads.** Every function may be called from any thread, and none calls back with a lock held. A read that
/// follows a write on the same thread sees it. Between processes a write is seen by others when it is
/// committed: at the latest ``CacheConfiguration/Disk/groupCommitInterval`` after it returned, and the time that the commit
/// takes, for which one that is under way, of this process or another one, or an update, may have to be waited for. What
/// a process that died had not committed is seen about a second after its death, and at once by processes that open the
/// cache then. A read never goes back to an older value. Writes of one process to one key are ordered as they were made;
/// those of two processes by their commits. Where that is too weak, use ``flush()``, or ``write(waitsForCommit:_:)``,
/// which can return after the commit, or ``update(_:forKey:expires:cost:_:)`` and its siblings, or ``Durability/full``.
///
/// **Files that somebody deletes.** The files may be deleted or replaced while the cache is open, by a cleaner of caches,
/// say. Before every commit, and about every second, they are compared with those that are open; the cache then goes over
/// to what is there, or makes it anew, in every process that has it open. What was committed to the old files is gone
/// from memory too; what waits for its commit is kept. What was written in the second before is as safe as the files
/// were: it is lost if the process dies before its next commit. A file that another program makes shorter cannot be
/// guarded: reading it where it ended is a signal (SIGBUS) until that is noticed.
///
/// **Processes that are suspended.** One that holds a lock holds the commits of the others up, and nothing else: see
/// ``CacheConfiguration/Disk/lockTimeout``. One that is suspended in a snapshot (``read(_:)``) keeps what the snapshot can see
/// from being used again, so that the file grows with every commit until it goes on or ends; only
/// ``CacheConfiguration/Disk/mapSize`` and the limits bound it. Programs that write to the database with LMDB itself, past
/// this package, take part in none of this.
///
/// **Errors.** What cannot be read is an error and stays where it is. When the disk is full or fails, the cache
/// goes on in memory and ``health`` says so; what it could not record is lost if the process dies, and what that replaced
/// or removed may be there again. With ``Durability/full`` writes throw then, and change nothing; batches and removals by
/// tag do in every mode.
public final class LMDBCache: Sendable {
  let store: DiskStore
  /// The memory tier: its limits, counts and trims.
  public let memoryCache: MemoryTier
  /// The disk tier. What is written through it is seen by this cache.
  public let diskCache: DiskCache
  var loadCounters: LoadCounters { memoryCache.loadCounters }
  let loadPauses = LoadPauses()
  /// The keys that are loaded anew in the background.
  let refreshes = Mutex<Set<ByteKey>>([])
  var background: BackgroundQueue { diskCache.background }

  /// Opens, or creates, the cache `name` of this program, in one of the user's directories.
  ///
  /// The cache's directory is `<user's directory>/<program>/<name>`. The program is the main bundle's identifier, or the
  /// executable's name without a bundle.
  ///
  /// - Parameters:
  ///   - name: One path component.
  ///   - place: ``UserDirectory/caches`` for what can be made again, ``UserDirectory/data`` for what is to stay.
  ///   - configuration: `nil` for the defaults, in ``UserDirectory/data`` without limits of the disk tier.
  /// - Throws: as ``init(directory:configuration:)``.
  public convenience init(
    name: String, in place: UserDirectory = .caches, configuration: CacheConfiguration? = nil
  ) throws(CacheError) {
    try self.init(directory: place.url(named: name), configuration: configuration ?? .standard(in: place))
  }

  /// Opens, or makes, the cache in a directory.
  ///
  /// Opening the same directory again in one process shares the disk tier. What belongs to it has to be the same then:
  /// ``CacheConfiguration/durability``, ``CacheConfiguration/disk`` and ``CacheConfiguration/clock``; a limit may also be
  /// what it was changed to. Each object has everything else for itself: its memory tier, how values are loaded, archived
  /// and transformed, and its log. What the disk tier itself logs goes to the logger of the first one.
  ///
  /// - Throws: ``CacheError`` with `.invalidArgument`, `.invalidDirectory`, `.insecureDirectory`, `.permissionDenied`,
  ///   `.readOnlyFileSystem`, `.remoteFileSystem`, `.durabilityMismatch`, `.configurationMismatch`, `.unsupportedVersion`,
  ///   `.processNamespaceMismatch`, `.lockTimeout`, `.busy`, `.noSpace` or `.storageFailed`; `.corruptedRecord` for a
  ///   database of another program; `.damagedDatabase` for a damaged cache that other processes have open, or that
  ///   ``CacheConfiguration/Disk/recoversFromDamage`` says not to touch. Any other damaged one is set aside and made anew:
  ///   see ``recovery``.
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

  /// Commits what waits and ends the use of this object; everything else throws ``CacheError/Code/closed`` from
  /// now on. The files are closed when every cache of this process on the directory is. Calling it again does
  /// nothing. What is not closed is closed when it is released, and what could be recorded is safe without it.
  ///
  /// - Throws: `.notCommitted` if the last writes could not be committed; they are in the journal. `.noSpace` or
  ///   `.storageFailed` if something written since the last ``flush()`` could not be recorded, and is lost. The cache is
  ///   closed all the same.
  public func close() throws(CacheError) {
    tearDown()
    try diskCache.close()
  }

  private func tearDown() {
    memoryCache.close()
    // What is loaded now is told of no writes any more.
    store.journal.lock.withLock { memoryCache.loads.close() }
    store.remove(memoryCache)
  }

  /// Makes everything written so far safe from a power cut, in every durability mode.
  ///
  /// - Throws: `.notCommitted` while commits fail: they are tried again. Once, `.noSpace` or `.storageFailed` if something
  ///   written since the last call could not be recorded, and is in memory only. `.closed`.
  public func flush() throws(CacheError) { try diskCache.flush() }

  /// The state of the disk tier.
  public var health: CacheHealth { diskCache.health }

  /// What opening had to set aside because it was damaged, or `nil` if nothing was. See ``DiskCache/recovery``.
  public var recovery: CacheRecovery? { diskCache.recovery }

  /// What this object and its disk tier have done since they were opened, and what the files are used for.
  public var statistics: CacheStatistics {
    var statistics = diskCache.statistics
    memoryCache.add(to: &statistics)
    return statistics
  }

  /// Number of entries on the disk, where every entry is; expired ones count until they are removed. Commits what
  /// waits, and reads one number: there is no scan. 0 when the cache is closed or cannot be read, which is logged.
  public var count: Int { diskCache.count }

  /// The sum of the entries' costs; see ``count``.
  public var totalCost: Int { diskCache.totalCost }

  /// As ``count``, but throws where it cannot be known.
  ///
  /// - Throws: `.closed`, `.notCommitted`, `.storageFailed`, `.damagedDatabase`.
  public func entryCount() throws(CacheError) -> Int { try diskCache.entryCount() }

  /// As ``totalCost``, but throws where it cannot be known.
  ///
  /// - Throws: as ``entryCount()``.
  public func totalEntryCost() throws(CacheError) -> Int { try diskCache.totalEntryCost() }
}
