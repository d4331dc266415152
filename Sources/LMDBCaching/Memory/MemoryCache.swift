public import CPlatform
public import Synchronization

/// A cache in memory with adaptive S3-FIFO eviction (Yang et al., SOSP 2023).
///
/// Any thread may use it, and threads rarely wait for each other. A `String` key is its UTF-8 bytes: a composed and a
/// decomposed "é" are two keys. Limits hold whenever a call returns; an expired value is never returned. By default it
/// holds a million values; `MemoryCache(countLimit: .max)` lifts that. Values are released outside the cache's
/// locks, by default on a background queue, so their `deinit` may use the cache. A key's `==` and `hash(into:)` run
/// while a part of the cache is locked: they must not use it, nor wait for a thread that does.
///
/// ```swift
/// let cache = MemoryCache<String, Image>(countLimit: 1_000)
/// cache.set(image, forKey: "icon", expiresIn: .seconds(60))
/// let image = cache.value(forKey: "icon")
/// ```
@safe public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: @unchecked Sendable {
  // Unchecked: the memory of the shards is atomic or used as the table below says, and is freed with the last reference
  // to the cache.

  // # Who may touch what
  //
  // | | written by | read by |
  // |---|---|---|
  // | a shard's core: table, entries, slots, queues, ghosts | its lock's holder | the same |
  // | key, value and word of an entry; `expires` and stamps of its details | the lock's holder | any thread, see below |
  // | use and last access of an entry | any thread | any thread |
  // | a shard's view | the lock's holder | any thread |
  // | a thread's line (``MemoryReader``) | that thread | any thread |
  // | totals, limits, the mask | any thread, atomically | any thread |
  //
  // **Hits take no lock** (`MemoryCache+Look`). A look-up announces itself in its thread's line, reads the version of
  // the shard's lock, follows the view to the table, copies the entry as bytes, and reads the version again. If it is
  // unchanged, the copy is a consistent entry, and only then are its key and value used as such; before, only addresses
  // read under the same version may be dereferenced. Then it compares the key, retains the value, notes the use, and
  // leaves its line. After some failures, and for anything but a hit or a miss (an expired entry, a closed or resharding
  // store), it leaves its line and takes the lock.
  //
  // **Removed memory stays until its last reader leaves.** A value, a key, the memory of a table or of slots is taken
  // out under the lock, and released after ``MemoryReaders/wait()``, which follows the lock: at once by the caller, or
  // in batches by the disposal queue (`MemoryCache+Mutation`, ``DisposalQueue``, ``MemoryArena``). So a reader that
  // copied an entry under an unchanged version can retain its value, which its owner has not released yet, and addresses
  // read under an unchanged version never point to freed memory.
  //
  // **Readers never wait while others wait for them.** A reader leaves its line before it takes a lock of the store. No
  // thread waits for readers with a shard's lock held. A suspended reader delays only removals, as the holder of a lock
  // would: the disposal queue has its bound, and callers wait beyond it.
  //
  // **Noting a use may hit another entry** if the table was changed in the meantime. That only affects when the entry is
  // evicted; the memory still belongs to the table, see above.

  @usableFromInline typealias Entry = MemoryEntry<Key, Value>
  @usableFromInline typealias Shard = MemoryShard<Key, Value>
  @usableFromInline typealias Pair = MemoryPair<Key, Value>
  @usableFromInline typealias Releases = MemoryReleases<Key, Value>

  /// One allocation: the totals (128 bytes), the shards.
  @usableFromInline let memory: UnsafeMutableRawPointer
  @usableFromInline let readers: MemoryReaders
  @usableFromInline let arena: MemoryArena
  @usableFromInline let seed = KeyIdentity.seed
  @usableFromInline let ticks: MemoryTicks
  @usableFromInline let clock: CacheClock
  @usableFromInline let disposal: DisposalQueue<Pair>
  @usableFromInline let isCheapToRelease: (@Sendable (Value) -> Bool)?
  /// Advanced with every mutation that has a stamp.
  @usableFromInline let versions: KeyVersions?

  /// The number of shards in use less one. A reader checks it again under the shard's lock.
  @usableFromInline let mask: Atomic<Int>
  @usableFromInline let countLimits: Atomic<Int>
  @usableFromInline let costLimits: Atomic<Int>
  /// The count above which more shards are used.
  @usableFromInline let splitCount: Atomic<Int>
  /// Whether an entry with an expiry may exist, so that the timer is needed.
  @usableFromInline let hasExpiring = Atomic<Bool>(false)

  let reshardings = Atomic<Int>(0)
  let resharding = Mutex<Void>(())
  let autoTrim = Mutex(AutoTrim())
  let pressure = MemoryPressure()

  @inlinable static var shardCount: Int { 16 }
  @inlinable static var shardsOffset: Int { 128 }

  /// - Parameters:
  ///   - countLimit: The maximum number of values, a million by default; 0 holds none. `Int.max` or a negative number
  ///     means no limit; all limits treat negative numbers so.
  ///   - costLimit: The maximum total of the costs given to ``set(_:forKey:expiresIn:cost:)``.
  ///   - ageLimit: How long after its last access a value is kept; `nil` for ever.
  ///   - clock: The source of the time.
  public convenience init(
    countLimit: Int = 1_000_000, costLimit: Int = .max, ageLimit: Duration? = nil, clock: CacheClock = .system
  ) {
    self.init(countLimit: countLimit, costLimit: costLimit, ageLimit: ageLimit, clock: clock, keepsStamps: false)
  }

  /// - Parameters:
  ///   - keepsStamps: Whether the functions that take a stamp will be used.
  ///   - isCheapToRelease: Detects values that the caller may release at once; by default those without references.
  package init(
    countLimit: Int = .max, costLimit: Int = .max, ageLimit: Duration? = nil, clock: CacheClock = .system,
    keepsStamps: Bool, isCheapToRelease: (@Sendable (Value) -> Bool)? = nil
  ) {
    let (countLimit, costLimit) = (Self.limit(countLimit), Self.limit(costLimit))
    let shards = Self.shardCount(countLimit: countLimit, costLimit: costLimit, count: 0)
    unsafe memory = .allocate(byteCount: Self.shardsOffset + Self.shardCount * Shard.stride, alignment: 128)
    self.clock = clock
    self.isCheapToRelease = isCheapToRelease
    versions = keepsStamps ? KeyVersions() : nil
    ticks = MemoryTicks(clock: clock)
    mask = Atomic(shards - 1)
    countLimits = Atomic(countLimit)
    costLimits = Atomic(costLimit)
    splitCount = Atomic(Self.splitCount(countLimit: countLimit, costLimit: costLimit, shards: shards))
    readers = MemoryReaders()
    disposal = DisposalQueue(readers: readers)
    arena = MemoryArena(chunkBytes: MemorySlabs.slabBytes(keepsStamps: keepsStamps))
    totals.initialize(to: MemoryTotals())
    for number in 0..<Self.shardCount {
      let shard = shard(number)
      shard.initialize(to: Shard(mask: Int32(shards - 1), arena: arena))
      if keepsStamps { shard.pointee.core.makeStripes() }
    }
    self.ageLimit = ageLimit
    pressure.update { $0.removeAll = { [weak self] in self?.removeAll() } }
  }

  deinit {
    for number in 0..<Self.shardCount {
      let shard = shard(number)
      Self.destroy(shard.pointee.core.detach())
      unsafe shard.pointee.core.table.deallocate(arena: arena)
      unsafe shard.pointee.core.slabs.deallocate()
      unsafe shard.pointee.core.freeStripes()
      _ = unsafe shard.move()
    }
    unsafe memory.deallocate()
  }

  // MARK: Parts

  @inlinable @inline(__always)
  func shard(_ number: Int) -> MemoryReference<Shard> {
    assert(number >= 0 && number < Self.shardCount)
    let place = unsafe memory + (Self.shardsOffset &+ number &* Shard.stride)
    return unsafe MemoryReference(place.assumingMemoryBound(to: Shard.self))
  }

  @inlinable @inline(__always)
  var totals: MemoryReference<MemoryTotals> { unsafe .init(memory.assumingMemoryBound(to: MemoryTotals.self)) }

  @inlinable @inline(__always)
  func number(of hash: UInt64, mask: Int) -> Int { Int(truncatingIfNeeded: hash &>> 60) & mask }

  /// The key's hash for the other functions; differs between processes.
  @inlinable @inline(__always)
  package func hash(of key: Key) -> UInt64 { KeyIdentity.hash(key, seed: seed) }

  @inlinable @inline(__always)
  func prefetch(hash: UInt64, mask: Int) {
    shard(number(of: hash, mask: mask)).pointee.view.prefetch(hash: hash, stride: MemoryLayout<Entry>.stride)
  }

  /// Locks and returns the shard of `hash`, or returns `nil` once closed. Pass `isFetched` some time after
  /// ``prefetch(hash:mask:)``.
  @inlinable @inline(__always)
  func lockShard(hash: UInt64, isFetched: Bool = false) -> MemoryReference<Shard>? {
    while true {
      let mask = mask.load(ordering: .relaxed)
      let number = number(of: hash, mask: mask)
      if !isFetched { prefetch(hash: hash, mask: mask) }
      let shard = shard(number)
      shard.pointee.lock()
      if Int(shard.pointee.core.mask) == mask { return shard }
      let isClosed = shard.pointee.core.isClosed
      shard.pointee.unlockUnchanged()
      if isClosed { return nil }
    }
  }

  /// For an insertion, which changes all of the shard: prefetches its lines together, since another processor often has
  /// them.
  @inlinable @inline(__always)
  func lockShardToInsert(hash: UInt64) -> MemoryReference<Shard>? {
    let shard = unsafe UnsafeRawPointer(shard(number(of: hash, mask: mask.load(ordering: .relaxed))).pointer)
    for part in stride(from: 0, to: MemoryLayout<Shard>.size, by: 64) {
      unsafe cplatform_prefetch_to_write(shard + part)
    }
    return lockShard(hash: hash)
  }

  // MARK: Totals and limits

  /// The number of values, including expired ones that were not removed yet.
  public var count: Int { max(0, totals.pointee.count.load(ordering: .relaxed)) }

  /// The sum of the values' costs.
  public var totalCost: Int { Int(clamping: totals.pointee.cost.load(ordering: .relaxed)) }
}

/// The small queues' target share of all shards, which adapts to misses: see
/// ``MemoryCore/evict(byCost:share:keeping:clock:cost:)``.
@frozen @usableFromInline
struct MemoryShare: ~Copyable {
  /// In units of 2^-32.
  @usableFromInline let units: Atomic<Int>

  @inlinable static var unit: Int { 1 << 32 }
  @inlinable static var start: Int { unit / 10 }
  @inlinable static var least: Int { unit / 100 }
  @inlinable static var most: Int { unit }

  @inlinable
  init() { units = Atomic(Self.start) }

  @inlinable @inline(__always)
  var value: Double { Double(units.load(ordering: .relaxed)) / Double(Self.unit) }

  /// Moves room for four entries to the small or the main queues, whichever evicted an entry too early. Concurrent
  /// calls may count once. `count` is the number of entries in all shards.
  @inlinable
  borrowing func adapt(to recollection: MemoryGhosts.Recollection, count: Int) {
    let step = Self.unit &* 4 / max(1, count)
    switch recollection {
    case .none, .early: return
    case .lateInSmall: units.store(min(Self.most, units.load(ordering: .relaxed) &+ step), ordering: .relaxed)
    case .lateInMain: units.store(max(Self.least, units.load(ordering: .relaxed) &- step), ordering: .relaxed)
    }
  }
}

/// Counters of a memory cache since it was made.
public struct MemoryStatistics: Sendable, Hashable {
  /// Look-ups that found a live value.
  public var hits = 0
  /// Look-ups of a missing or expired value.
  public var misses = 0
  /// Values stored under a free key.
  public var insertions = 0
  /// Entries removed to keep the limits, or by a trim.
  public var evictions = 0
  /// Entries removed because they had expired.
  public var expirations = 0

  /// Hits as a fraction of all look-ups, 0 without look-ups.
  public var hitRatio: Double {
    let lookups = hits + misses
    return lookups == 0 ? 0 : Double(hits) / Double(lookups)
  }
}

/// Time of the last access in 32 bits: ticks of 2^26 nanoseconds (67 ms) since the store was made, enough for 9 years.
@usableFromInline
package struct MemoryTicks: Sendable {
  /// Unmanaged: counting references would be the most expensive part of a hit, and contended. The store keeps the
  /// clock.
  private let clock: CacheClock.Unretained
  private let start: Int64

  init(clock: CacheClock) {
    self.clock = CacheClock.Unretained(clock)
    start = clock.coarseNow
  }

  /// The present tick; the first one if the wall clock is before the store's creation.
  @usableFromInline
  var now: UInt32 {
    let elapsed = max(0, clock.coarseNow &- start) >> 26
    return UInt32(clamping: elapsed)
  }

  func nanoseconds(of tick: UInt32) -> Int64 {
    start &+ Int64(tick) << 26
  }
}

/// The count and cost of all shards, and their queues' shares, in a separate cache line.
@frozen @usableFromInline
struct MemoryTotals: ~Copyable {
  @usableFromInline let count = Atomic<Int>(0)
  /// Unsigned, because it passes the limit for a moment before an eviction.
  @usableFromInline let cost = Atomic<UInt64>(0)
  @usableFromInline let share = MemoryShare()

  @inlinable
  init() {}

  @inlinable
  func add(count: Int, cost: Int64) {
    if count != 0 { self.count.wrappingAdd(count, ordering: .relaxed) }
    if cost != 0 { self.cost.wrappingAdd(UInt64(bitPattern: cost), ordering: .relaxed) }
  }
}

extension MemoryCache {
  /// Whether removed values are released on a background queue (or asynchronously on the main thread) instead of the
  /// removing thread. Default true. ``removeValue(forKey:)`` returns its value instead.
  public var releasesAsynchronously: Bool {
    get {
      let mode = disposal.mode.load(ordering: .relaxed)
      return mode == DisposalQueue<Pair>.Mode.background || mode == DisposalQueue<Pair>.Mode.main
    }
    set { setRelease(asynchronously: newValue, onMainThread: releasesOnMainThread) }
  }

  /// Whether removed values are released on the main thread, which must then run its queue. Default false. The number
  /// of waiting values is unbounded.
  public var releasesOnMainThread: Bool {
    get { disposal.mode.load(ordering: .relaxed) >= DisposalQueue<Pair>.Mode.main }
    set { setRelease(asynchronously: releasesAsynchronously, onMainThread: newValue) }
  }

  /// Where values are released: by the caller, on a background queue, on the main thread now, or on it later.
  package func setRelease(asynchronously: Bool, onMainThread: Bool) {
    typealias Mode = DisposalQueue<Pair>.Mode
    let mode =
      onMainThread
      ? (asynchronously ? Mode.main : Mode.mainSynchronously) : (asynchronously ? Mode.background : Mode.caller)
    disposal.mode.store(mode, ordering: .relaxed)
  }

  /// The moment `duration` from now, or `nil` if not in the future.
  @usableFromInline
  func moment(after duration: Duration) -> Int64? {
    let nanoseconds = duration.clampedNanoseconds
    if nanoseconds <= 0 { return nil }
    let (moment, overflow) = clock.now.addingReportingOverflow(nanoseconds)
    return overflow ? .max : moment
  }
}

extension MemoryCache {
  // MARK: Values

  /// Returns the value under `key`, or `nil` if it is missing or has expired. Counts as an access.
  @inlinable
  public func value(forKey key: Key) -> Value? {
    let hash = hash(of: key)
    switch access(key, hash: hash, tick: ticks.now, needsStamps: { false }, { .some($0.value) }) {
    case .hit(let value): return value
    case .miss, .closed: return nil
    }
  }

  /// Stores a value, replacing the one under `key`, and evicts others until the limits hold.
  ///
  /// The place in the eviction order is kept. A value whose cost exceeds the limit, or with an expiry of zero or less,
  /// is not stored, but the older one goes.
  ///
  /// - Parameters:
  ///   - duration: How long it may be returned, by the wall clock; `nil` for ever.
  ///   - cost: Its share of ``costLimit``, clamped to 0...2^55. (`LMDBCache` refuses negative costs.)
  @inlinable
  public func set(_ value: consuming Value, forKey key: Key, expiresIn duration: Duration? = nil, cost: Int = 0) {
    let hash = hash(of: key)
    var expires = Int64.max
    if let duration {
      guard let moment = moment(after: duration) else {
        drop(key, hash: hash)
        return refuse(value)
      }
      expires = moment
    }
    set(key, hash: hash, value: value, cost: cost, expires: expires)
  }

  /// Removes and returns the value under `key`, or `nil` if it is missing or has expired.
  ///
  /// The caller releases the value, even if it ignores the result, regardless of ``releasesAsynchronously`` and
  /// ``releasesOnMainThread``. ``removeObject(forKey:)`` follows them.
  @inlinable @discardableResult
  public func removeValue(forKey key: Key) -> Value? {
    remove(key, hash: hash(of: key))
  }

  /// Removes the value under `key`, if it exists, and releases it as an evicted one.
  @inlinable
  public func removeObject(forKey key: Key) { drop(key, hash: hash(of: key)) }

  /// Removes the values whose keys `predicate` accepts. It runs without a lock.
  public func removeAll(where predicate: (Key) -> Bool) { removeAll(olderThan: .max, where: predicate) }

  /// Returns whether a live value exists under `key`. Not an access.
  @inlinable
  public func contains(_ key: Key) -> Bool {
    contains(key, hash: hash(of: key))
  }
}

extension MemoryCache {
  // MARK: Many keys

  /// Returns the values under keys, in the order of the keys; `nil` for missing and expired ones. Each counts as an
  /// access.
  ///
  /// Faster than single look-ups in a large cache, because several entries are fetched at once. The values are not a
  /// snapshot.
  @inlinable
  public func values(forKeys keys: [Key]) -> [Value?] {
    let tick = ticks.now
    return unsafe [Value?](unsafeUninitializedCapacity: keys.count) { values, count in
      withHashes(of: keys) { index, hash in
        let found = access(keys[index], hash: hash, tick: tick, isFetched: true, needsStamps: { false }) {
          .some($0.value)
        }
        if case .hit(let value) = found {
          unsafe values.initializeElement(at: index, to: value)
        } else {
          unsafe values.initializeElement(at: index, to: nil)
        }
      }
      count = keys.count
    }
  }
}

extension MemoryCache {
  /// Whether a memory warning empties the cache. Default true.
  public var removesAllObjectsOnMemoryWarning: Bool {
    get { pressure.state.withLock { $0.removesAllOnWarning } }
    set { pressure.update { $0.removesAllOnWarning = newValue } }
  }

  /// Whether ``handleEnteringBackground()`` empties the cache. Default true.
  public var removesAllObjectsWhenEnteringBackground: Bool {
    get { pressure.state.withLock { $0.removesAllInBackground } }
    set { pressure.update { $0.removesAllInBackground = newValue } }
  }

  /// Called on a memory warning, before the cache is emptied, on any thread and under no lock.
  public var didReceiveMemoryWarning: (@Sendable () -> Void)? {
    get { pressure.state.withLock { $0.didReceiveWarning } }
    set { pressure.update { $0.didReceiveWarning = newValue } }
  }

  /// Called when the app has entered the background, before the cache is emptied, under no lock.
  public var didEnterBackground: (@Sendable () -> Void)? {
    get { pressure.state.withLock { $0.didEnterBackground } }
    set { pressure.update { $0.didEnterBackground = newValue } }
  }

  /// Handles a memory warning: calls ``didReceiveMemoryWarning``, then ``removeAll()`` if so configured.
  public func handleMemoryPressure() { pressure.warn() }

  /// Call this when the app enters the background. Calls ``didEnterBackground``, then ``removeAll()`` if so configured.
  public func handleEnteringBackground() { pressure.enterBackground() }
}
