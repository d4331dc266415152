import Foundation
import Synchronization

/// The memory tier of an ``LMDBCache``: limits, counts and trims.
///
/// Values are read and written through the cache, which keeps the tiers in step: what this drops is still on the
/// disk, and what the disk tier drops is not here any more. Any thread may use it.
public final class MemoryTier: Sendable {
  private let memory: MemoryStore<String, MemoryValue>
  /// The same store with the public face that a memory cache alone has.
  private let cache: MemoryCache<String, MemoryValue>

  /// The loads under way, which are told of every write. Touched with the disk store's lock held only.
  let loads = LoadWatch()
  let loadCounters = LoadCounters()

  /// Look-ups that the store counted as hits, and that did not give what was asked for.
  private let foundOthers = Atomic<Int>(0)
  /// The hash of the key that is changing, its lowest bit set, or 0 for none.
  private let changing = Atomic<UInt64>(0)

  private let clock: CacheClock

  init(_ configuration: CacheConfiguration, clock: CacheClock) {
    self.clock = clock
    memory = MemoryStore(
      countLimit: configuration.memory.countLimit, costLimit: configuration.memory.costLimit,
      clock: clock, keepsStamps: true, isCheapToRelease: { $0.isCheapToRelease })
    cache = MemoryCache(
      store: memory,
      configuration: MemoryCacheConfiguration(ageLimit: configuration.memory.ageLimit, clock: clock))
  }

  func _checkInvariants() { memory._checkInvariants() }

  /// How many entries it holds at most; kept at once by every write. Less than 0 is taken for no limit, `Int.max`, as with the
  /// other limits.
  public var countLimit: Int {
    get { cache.countLimit }
    set { cache.countLimit = newValue }
  }

  /// The greatest total cost; kept at once by every write. An entry that costs more is on the disk only.
  public var costLimit: Int {
    get { cache.costLimit }
    set { cache.costLimit = newValue }
  }

  /// How long after its last access an entry stays; `nil` for no limit. Checked every ``autoTrimInterval``.
  public var ageLimit: Duration? {
    get { cache.ageLimit }
    set { cache.ageLimit = newValue }
  }

  /// How often old and expired entries are removed; 5 s by default. With zero or less, never.
  public var autoTrimInterval: Duration {
    get { cache.autoTrimInterval }
    set { cache.autoTrimInterval = newValue }
  }

  /// Whether values that are dropped are released on a background queue, so that no caller pays for a long
  /// `deinit`; true by default. At most a bounded number waits: with more, callers release themselves. Values that are
  /// no objects and whose archive has 1 KiB at most are always released at once: handing them over takes longer.
  public var releasesAsynchronously: Bool {
    get { cache.releasesAsynchronously }
    set { cache.releasesAsynchronously = newValue }
  }

  /// Whether they are released on the main thread; false by default.
  public var releasesOnMainThread: Bool {
    get { cache.releasesOnMainThread }
    set { cache.releasesOnMainThread = newValue }
  }

  /// Entries in memory, expired ones included until they are removed.
  public var count: Int { memory.count }
  /// The sum of their costs.
  public var totalCost: Int { memory.totalCost }
  /// What was counted since the cache was opened. The counters are read one by one while others change.
  public var statistics: MemoryStatistics { memory.statistics }

  /// Whether an entry that has not expired is in memory. Not an access.
  public func contains(_ key: String) -> Bool { memory.contains(key, hash: memory.hash(of: key)) }

  /// Drops entries until at most `count` are left. For a number, or an age, that is less than 0 the trims do nothing.
  public func trim(toCount count: Int) { memory.trim(toCount: count) }
  /// Drops entries until they cost at most `cost`.
  public func trim(toCost cost: Int) { memory.trim(toCost: cost) }
  /// Drops the entries whose last access is longer ago than `age`.
  public func trim(toAge age: Duration) { memory.trim(toAge: age) }
  /// Drops every entry. Nothing is lost: the next reads go to the disk.
  public func removeAll() { memory.removeAll() }

  // MARK: Memory pressure

  /// Whether everything is dropped when the system is short of memory; true by default. On Linux pressure stall
  /// information tells (`/proc/pressure/memory`), where the kernel has it; ``handleMemoryPressure()`` does the same.
  public var removesAllObjectsOnMemoryWarning: Bool {
    get { cache.removesAllObjectsOnMemoryWarning }
    set { cache.removesAllObjectsOnMemoryWarning = newValue }
  }

  /// Whether ``handleEnteringBackground()`` drops everything; true by default.
  public var removesAllObjectsWhenEnteringBackground: Bool {
    get { cache.removesAllObjectsWhenEnteringBackground }
    set { cache.removesAllObjectsWhenEnteringBackground = newValue }
  }

  /// Called before entries are dropped for want of memory.
  public var didReceiveMemoryWarning: (@Sendable () -> Void)? {
    get { cache.didReceiveMemoryWarning }
    set { cache.didReceiveMemoryWarning = newValue }
  }

  /// Called before entries are dropped in the background.
  public var didEnterBackground: (@Sendable () -> Void)? {
    get { cache.didEnterBackground }
    set { cache.didEnterBackground = newValue }
  }

  /// What the system's memory warning does; to be called where a host has other means to know.
  public func handleMemoryPressure() { cache.handleMemoryPressure() }

  /// To be called when an application goes to the background.
  public func handleEnteringBackground() { cache.handleEnteringBackground() }

  // MARK: For the cache

  enum Look {
    /// A value of the type that was asked for.
    case hit(MemoryValue)
    /// Here, but another process has written since: the disk decides.
    case unvalidated(stamp: UInt64)
    /// Here, as a value of another type.
    case otherType(MemoryValue)
    case miss
    case closed
  }

  @inline(__always)
  func look(up key: String, hash: UInt64, as type: ObjectIdentifier, in store: DiskStore) -> Look {
    look(up: key, hash: hash, as: type, in: store, tick: memory.ticks.now, isFetched: false)
  }

  /// - Parameters:
  ///   - tick: See ``tick``.
  ///   - isFetched: Whether ``withHashes(of:_:)`` gave the hash.
  @inline(__always)
  func look(
    up key: String, hash: UInt64, as type: ObjectIdentifier, in store: DiskStore, tick: UInt32, isFetched: Bool
  ) -> Look {
    var position: UInt64 = 0
    let access = memory.access(key, hash: hash, tick: tick, isFetched: isFetched) {
      // The store is open: it is closed only after this tier, which is closed after what runs here has ended.
      position = store.requiredPosition
      // Where no other process has written since the store was opened, the entry's own word need not be fetched.
      return position != store.tracker.first
    } _: { entry -> Look? in
      if position != store.tracker.first, entry.validated < position { return .unvalidated(stamp: entry.stamp) }
      let value = entry.value
      return value.type == type ? .hit(value) : .otherType(value)
    }
    switch access {
    case .hit(let look): return look
    case .miss: return .miss
    case .closed: return .closed
    }
  }

  /// The hash by which the tiers know a key, with the store's copy of the seed: of that nobody has to ask whether it has been
  /// made yet.
  @inline(__always)
  func hash(of key: String) -> UInt64 { KeyIdentity.hash(key, seed: memory.seed) }

  /// The time of accesses that are made now.
  var tick: UInt32 { memory.ticks.now }

  /// See ``MemoryStore/withHashes(of:_:)``.
  func withHashes(of keys: [String], _ body: (Int, UInt64) -> Void) { memory.withHashes(of: keys, body) }

  /// What ``keep(_:_:_:token:)`` needs, to be taken before the value is read; `nil` if it cannot be kept.
  func token(_ key: CacheKey) -> UInt64? {
    let hash = key.hash
    let token = memory.token(hash: hash)
    // Looked at last: a token that is taken after the change was announced is of a time at which it is seen here.
    return isChanging(hash) ? nil : token
  }

  /// Whether a write of a key of this hash may be committed at any moment.
  func isChanging(_ hash: UInt64) -> Bool { changing.load(ordering: .acquiring) == hash | 1 }

  /// Keeps a value that was read from the disk, unless the key was written since `token` was taken.
  ///
  /// - Parameter record: Where the value was, whatever its payload.
  func keep<P>(_ value: MemoryValue, _ key: CacheKey, _ record: StoredRecord<P>, token: UInt64?) {
    let header = record.header
    guard let token, header.refresh == 0 || header.refresh > clock.now else { return }
    _ = memory.promote(
      key.string, hash: key.hash, value: tagged(value, record.tags, header.stamp), cost: header.cost,
      expires: header.servedFromMemory,
      stamp: header.stamp, validated: record.validated, token: token)
  }

  /// - Parameters: See ``MemoryStore/insert(_:hash:value:cost:expires:stamp:validated:isNewest:onPlaced:)``.
  func insert(
    _ value: MemoryValue, _ key: CacheKey, _ header: RecordHeader, _ tags: EntryTags?, _ outcome: WriteOutcome,
    isNewest: Bool? = nil, onPlaced: (() -> Void)? = nil
  ) {
    _ = memory.insert(
      key.string, hash: key.hash, value: tagged(value, tags, outcome.stamp), cost: header.cost,
      expires: header.servedFromMemory,
      stamp: outcome.stamp, validated: outcome.validated, isNewest: isNewest, onPlaced: onPlaced)
  }

  @inline(__always)
  private func tagged(_ value: MemoryValue, _ tags: EntryTags?, _ stamp: UInt64) -> MemoryValue {
    guard let tags else { return value }
    return value.tagged(TagMark(tags, stamp: stamp))
  }

  /// Follows a write whose value is not to be here.
  func remove(_ key: CacheKey, stamp: UInt64, onPlaced: (() -> Void)? = nil) {
    memory.remove(key.string, hash: key.hash, stamp: stamp, onPlaced: onPlaced)
  }

  func revalidate(_ key: CacheKey, stamp: UInt64, validated: UInt64) {
    memory.revalidate(key.string, hash: key.hash, stamp: stamp, validated: validated)
  }

  func discard(_ key: CacheKey, stamp: UInt64) { memory.discard(key.string, hash: key.hash, stamp: stamp) }

  /// Returns the value that the write with this stamp stored, whatever its type.
  func value(_ key: CacheKey, stamp: UInt64) -> MemoryValue? {
    let access = memory.access(key.string, hash: key.hash) { entry in entry.stamp == stamp ? entry.value : nil }
    if case .hit(let value) = access { return value }
    return nil
  }

  /// Returns the value, whatever its type, of an entry that is nowhere else, since it could not be recorded. To be asked
  /// when the disk has none: what is here then, and no other process has written after, is no removed one, but where a
  /// removal of many is on its way. Gone when another process writes anything: it may have removed the entry.
  func valueAlone(_ key: CacheKey, in store: DiskStore) throws(CacheError) -> MemoryValue? {
    guard store.observers.haveUnrecorded.load(ordering: .acquiring) else { return nil }
    let position = store.foreignPosition
    let access = memory.access(key.string, hash: key.hash) { entry in
      entry.validated >= position ? (entry.value, entry.stamp) : nil
    }
    guard case .hit((let value, let stamp)) = access, !store.observers.isBeingRemoved(key.string, writtenAt: stamp)
    else { return nil }
    if let mark = value.tagMark, try store.isRemoved(mark.tags, writtenAt: stamp) { return nil }
    return value
  }

  /// Nothing is read from here any more when it returns, and no ``EntryContent`` is believed.
  func close() {
    memory.close()
    versions.close()
  }

  /// The versions of the keys, which advance with every change of an entry.
  var versions: KeyVersions { memory.versions! }

  /// Returns when the entry expires, in nanoseconds since 1970, or `nil` if it is not here.
  func expires(_ key: CacheKey) -> Int64? { memory.expires(key.string, hash: key.hash) }

  /// Notes that what a look-up met was not the value that was asked for: the disk answers.
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
  func willChange(_ key: String, hash: UInt64, stamp: UInt64, isReadable: Bool) {
    loads.noteWrite(key)
    if isReadable {
      memory.announce(key, hash: hash, stamp: stamp)
    } else {
      memory.advanceStripe(hash: hash, to: stamp)
    }
  }

  func beginChange(_ key: String, hash: UInt64, stamp: UInt64) {
    changing.store(hash | 1, ordering: .sequentiallyConsistent)
    versions.advance(hash: hash)
  }

  func endChange(_ key: String, hash: UInt64) {
    // Those that began since it was announced have read what was there before.
    loads.noteWrite(key)
    changing.store(0, ordering: .releasing)
  }

  func willRemove(_ scope: HiddenKeys.Scope, stamp: UInt64) {
    loads.noteRemoval(scope)
    memory.advanceAllStripes(to: stamp)
    versions.advanceAll()
  }

  func didChange(_ key: String, hash: UInt64, stamp: UInt64) { memory.remove(key, hash: hash, stamp: stamp) }

  func didRemoveAll(withPrefix prefix: String, stamp: UInt64) {
    // For copies of what was read meanwhile.
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
    // For copies of what was read meanwhile.
    defer { versions.advanceAll() }
    memory.advanceAllStripes(to: moment)
    memory.removeAll(olderThan: stamp &+ 1)
  }
}
