import Foundation
import Synchronization

/// The memory tier of an ``LMDBCache``: limits, counts and trims. Any thread may use it.
///
/// Read and write values through the cache, which keeps the tiers consistent: entries dropped here are still on the
/// disk, and entries that the disk tier drops disappear here.
public final class MemoryTier: Sendable {
  private let memory: MemoryCache<String, MemoryValue>

  /// The running loads. Used only with the disk store's lock held.
  let loads = LoadWatch()
  let loadCounters = LoadCounters()

  /// Hits of the store that did not give a usable value.
  private let foundOthers = Atomic<Int>(0)
  /// The hash of the changing key with its lowest bit set, or 0.
  private let changing = Atomic<UInt64>(0)

  private let clock: CacheClock

  init(_ configuration: CacheConfiguration, clock: CacheClock) {
    self.clock = clock
    let limits = configuration.memory
    memory = MemoryCache(
      countLimit: limits.countLimit, costLimit: limits.costLimit, ageLimit: limits.ageLimit, clock: clock,
      keepsStamps: true, isCheapToRelease: { $0.isCheapToRelease })
    if limits.isOff { memory.removesAllObjectsOnMemoryWarning = false }
  }

  /// The maximum number of entries, enforced by every write. A negative number means no limit, `Int.max`, as in all
  /// limits.
  public var countLimit: Int {
    get { memory.countLimit }
    set { memory.countLimit = newValue }
  }

  /// The maximum total cost, enforced by every write. An entry that costs more is on the disk only.
  public var costLimit: Int {
    get { memory.costLimit }
    set { memory.costLimit = newValue }
  }

  /// How long after its last access an entry stays; `nil` for no limit. Checked every ``autoTrimInterval``.
  public var ageLimit: Duration? {
    get { memory.ageLimit }
    set { memory.ageLimit = newValue }
  }

  /// How often old and expired entries are removed; 5 s by default. Zero or less: never.
  public var autoTrimInterval: Duration {
    get { memory.autoTrimInterval }
    set { memory.autoTrimInterval = newValue }
  }

  /// Whether dropped values are released on a background queue, so that no caller pays for a long `deinit`; true by
  /// default. The queue is bounded: if it is full, callers release values themselves. Non-objects with an archive of up
  /// to 1 KiB are always released at once, which is faster.
  public var releasesAsynchronously: Bool {
    get { memory.releasesAsynchronously }
    set { memory.releasesAsynchronously = newValue }
  }

  /// Whether dropped values are released on the main thread; false by default.
  public var releasesOnMainThread: Bool {
    get { memory.releasesOnMainThread }
    set { memory.releasesOnMainThread = newValue }
  }

  /// Entries in memory, expired ones included until they are removed.
  public var count: Int { memory.count }
  /// The sum of their costs.
  public var totalCost: Int { memory.totalCost }
  /// Counters since the cache was opened, each read at its own moment.
  public var statistics: MemoryStatistics { memory.statistics }

  /// Returns whether a live entry is in memory. Not an access.
  public func contains(_ key: String) -> Bool { memory.contains(key, hash: memory.hash(of: key)) }

  /// Drops entries until the tier is within `target`. A negative one is ignored.
  public func trim(to target: TrimTarget) { memory.trim(to: target) }

  /// Drops every entry from memory; they stay on the disk.
  public func removeAll() { memory.removeAll() }

  // MARK: Memory pressure

  /// Whether everything is dropped when the system is short of memory; true by default. Linux needs pressure stall
  /// information (`/proc/pressure/memory`); otherwise call ``handleMemoryPressure()``.
  public var removesAllObjectsOnMemoryWarning: Bool {
    get { memory.removesAllObjectsOnMemoryWarning }
    set { memory.removesAllObjectsOnMemoryWarning = newValue }
  }

  /// Whether ``handleEnteringBackground()`` drops everything; true by default.
  public var removesAllObjectsWhenEnteringBackground: Bool {
    get { memory.removesAllObjectsWhenEnteringBackground }
    set { memory.removesAllObjectsWhenEnteringBackground = newValue }
  }

  /// Called before entries are dropped under memory pressure.
  public var didReceiveMemoryWarning: (@Sendable () -> Void)? {
    get { memory.didReceiveMemoryWarning }
    set { memory.didReceiveMemoryWarning = newValue }
  }

  /// Called before entries are dropped in the background.
  public var didEnterBackground: (@Sendable () -> Void)? {
    get { memory.didEnterBackground }
    set { memory.didEnterBackground = newValue }
  }

  /// Handles a memory warning. Call it if the host learns of memory pressure by other means.
  public func handleMemoryPressure() { memory.handleMemoryPressure() }

  /// Call this when an application enters the background.
  public func handleEnteringBackground() { memory.handleEnteringBackground() }

  // MARK: For the cache

  enum Look {
    /// A value of the requested type.
    case hit(MemoryValue)
    /// Another process has written since; ask the disk.
    case unvalidated(stamp: UInt64)
    /// A value of another type.
    case otherType(MemoryValue)
    case miss
    case closed
  }

  @inline(__always)
  func look(up key: String, hash: UInt64, as type: ObjectIdentifier, in store: DiskStore) -> Look {
    look(up: key, hash: hash, as: type, in: store, tick: memory.ticks.now, isFetched: false)
  }

  /// Pass `isFetched` if ``withHashes(of:_:)`` gave the hash.
  @inline(__always)
  func look(
    up key: String, hash: UInt64, as type: ObjectIdentifier, in store: DiskStore, tick: UInt32, isFetched: Bool
  ) -> Look {
    var position: UInt64 = 0
    let access = memory.access(key, hash: hash, tick: tick, isFetched: isFetched) {
      // The store is open: it is closed after this tier, which waits for running calls.
      position = store.database.requiredPosition
      // If no other process has written since the store was opened, the entry's own word need not be fetched.
      return position != store.database.tracker.first
    } _: { entry -> Look? in
      if position != store.database.tracker.first, entry.validated < position {
        return .unvalidated(stamp: entry.stamp)
      }
      let value = entry.value
      return value.type == type ? .hit(value) : .otherType(value)
    }
    switch access {
    case .hit(let look): return look
    case .miss: return .miss
    case .closed: return .closed
    }
  }

  /// The key's hash for both tiers. The store's copy of the seed avoids the check for its initialization.
  @inline(__always)
  func hash(of key: String) -> UInt64 { KeyIdentity.hash(key, seed: memory.seed) }

  var tick: UInt32 { memory.ticks.now }

  func withHashes(of keys: [String], _ body: (Int, UInt64) -> Void) { memory.withHashes(of: keys, body) }

  /// The token for ``keep(_:_:_:token:)``, taken before the value is read; `nil` if it cannot be kept.
  func token(_ key: CacheKey) -> UInt64? {
    let hash = key.hash
    let token = memory.token(hash: hash)
    // Checked last: a token taken after a change was announced belongs to a time when the change is visible here.
    return isChanging(hash) ? nil : token
  }

  /// Whether a write of a key with this hash may be committed at any moment.
  func isChanging(_ hash: UInt64) -> Bool { changing.load(ordering: .acquiring) == hash | 1 }

  /// Keeps a value from the disk, unless the key was written since `token` was taken.
  func keep<P>(_ value: MemoryValue, _ key: CacheKey, _ record: StoredRecord<P>, token: UInt64?) {
    let header = record.header
    guard let token, header.refresh == 0 || header.refresh > clock.now else { return }
    _ = memory.promote(
      key.string, hash: key.hash, value: tagged(value, record.tags, header.stamp), cost: header.cost,
      expires: header.servedFromMemory,
      stamp: header.stamp, validated: record.validated, token: token)
  }

  func insert(
    _ value: MemoryValue, _ key: CacheKey, _ header: RecordHeader, _ tags: EntryTags?, _ outcome: WriteOutcome
  ) {
    _ = memory.insert(
      key.string, hash: key.hash, value: tagged(value, tags, outcome.stamp), cost: header.cost,
      expires: header.servedFromMemory,
      stamp: outcome.stamp, validated: outcome.validated)
  }

  @inline(__always)
  private func tagged(_ value: MemoryValue, _ tags: EntryTags?, _ stamp: UInt64) -> MemoryValue {
    guard let tags else { return value }
    return value.tagged(TagMark(tags, stamp: stamp))
  }

  /// Removes the entry after a write that bypasses this tier.
  func remove(_ key: CacheKey, stamp: UInt64) { memory.remove(key.string, hash: key.hash, stamp: stamp) }

  func revalidate(_ key: CacheKey, stamp: UInt64, validated: UInt64) {
    memory.revalidate(key.string, hash: key.hash, stamp: stamp, validated: validated)
  }

  func discard(_ key: CacheKey, stamp: UInt64) { memory.discard(key.string, hash: key.hash, stamp: stamp) }

  func value(_ key: CacheKey, stamp: UInt64) -> MemoryValue? {
    let access = memory.access(key.string, hash: key.hash) { entry in entry.stamp == stamp ? entry.value : nil }
    if case .hit(let value) = access { return value }
    return nil
  }

  /// Afterwards nothing is read from here, and every ``EntryContent`` is stale.
  func close() {
    memory.close()
    versions.close()
  }

  /// The versions of the keys, which advance with every change.
  var versions: KeyVersions { memory.versions! }

  /// Nanoseconds since 1970, or `nil` if it is not here.
  func expires(_ key: CacheKey) -> Int64? { memory.expires(key.string, hash: key.hash) }

  /// Notes a hit without a usable value: the disk answers.
  @inline(never)
  func noteNoHit() { foundOthers.increment() }

  var size: (count: Int, cost: Int) { (memory.count, memory.totalCost) }

  func add(to statistics: inout CacheStatistics) {
    let own = memory.statistics
    statistics.memoryHits += max(0, own.hits - foundOthers.load(ordering: .relaxed))
    statistics.memoryEvictions += own.evictions
    statistics.expirations += own.expirations
    loadCounters.add(to: &statistics)
  }
}

extension MemoryTier: DiskStoreObserver {
  func willChange(_ key: String, hash: UInt64, stamp: UInt64) {
    loads.noteWrite(key)
    memory.announce(key, hash: hash, stamp: stamp)
  }

  func beginChange(_ key: String, hash: UInt64, stamp: UInt64) {
    changing.store(hash | 1, ordering: .sequentiallyConsistent)
    versions.advance(hash: hash)
  }

  func endChange(_ key: String, hash: UInt64) {
    // Loads that have begun since the announcement have read the old entry.
    loads.noteWrite(key)
    changing.store(0, ordering: .releasing)
  }

  func willRemove(_ scope: KeyScope, stamp: UInt64) {
    loads.noteRemoval(scope)
    memory.advanceAllStripes(to: stamp)
    versions.advanceAll()
  }

  func didChange(_ key: String, hash: UInt64, stamp: UInt64) { memory.remove(key, hash: hash, stamp: stamp) }

  func didRemoveAll(withPrefix prefix: String, stamp: UInt64) {
    // Invalidates copies that were read in the meantime.
    defer { versions.advanceAll() }
    if prefix.isEmpty {
      memory.removeAll(olderThan: stamp)
    } else {
      let prefix = Array(prefix.utf8)
      memory.removeAll(olderThan: stamp) { $0.utf8.starts(with: prefix) }
    }
  }

  func storeWillClose() { close() }

  func recordReads() { versions.advanceAll() }

  func lastAccess(of key: String) -> UInt32? {
    memory.lastAccess(key, hash: memory.hash(of: key)).map { UInt32(clamping: Int64($0)) }
  }

  func didEvict(_ key: String, stamp: UInt64, moment: UInt64) {
    memory.discard(key, hash: memory.hash(of: key), stamp: stamp, moment: moment)
  }

  func didEvictAll(stamp: UInt64, moment: UInt64) {
    // Invalidates copies that were read in the meantime.
    defer { versions.advanceAll() }
    memory.advanceAllStripes(to: moment)
    memory.removeAll(olderThan: stamp &+ 1)
  }
}
