public import Foundation
import LMDB
import Logging
import Platform
import Synchronization

/// The disk tier of an ``LMDBCache``; also a cache on its own, for values that should not use memory.
///
/// Threads, processes, keys and errors are as in ``LMDBCache``, except that writes throw if the disk is full or fails.
public final class DiskCache: Sendable {
  let store: DiskStore
  let configuration: CacheConfiguration
  let reader: RecordReader
  let events: EventLog
  private let coding: Mutex<ObjectCoding>
  private let isClosed = Atomic<Bool>(false)
  private let isReadFailureLogged = Atomic<Bool>(false)
  private let maintenance: Mutex<Maintenance>
  let observers = ChangeObservers()

  let background = BackgroundQueue()

  /// Nanoseconds by which the wall clock may have been ahead: a day.
  private static let greatestClockError: Int64 = 86_400_000_000_000

  private struct Maintenance {
    var interval: Duration = .seconds(60)
    var timer: CacheTimer?
  }

  /// Opens or creates the cache in a directory; see ``LMDBCache/init(directory:configuration:)``. Memory limits are
  /// ignored.
  ///
  /// - Throws: as ``LMDBCache/init(directory:configuration:)``.
  public init(directory: URL, configuration: CacheConfiguration = CacheConfiguration()) throws(CacheError) {
    guard directory.isFileURL else {
      throw CacheError(.invalidArgument, "\(directory) is no file URL; make one with URL(fileURLWithPath:).")
    }
    self.configuration = configuration
    store = try DiskStore.open(directory: directory.path, configuration: configuration)
    reader = store.makeReader(ValueTransforms(transforms: configuration.valueTransforms))
    events = EventLog(configuration.logger)
    coding = Mutex(configuration.objectCoding)
    maintenance = Mutex(Maintenance())
    // Stamps are wall-clock times of all processes, so the time is at least the last stamp's. One far ahead comes from
    // a wrong clock, or from damage.
    let lastStamp = Int64(clamping: store.journal.lock.withLock { store.journal.state.stamps.last })
    if lastStamp <= store.clock.now.addingClamped(Self.greatestClockError) {
      store.clock.advance(toAtLeast: lastStamp)
    }
    autoTrimInterval = .seconds(60)
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

  /// See ``LMDBCache/close()``.
  public func close() throws(CacheError) {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    let timer = maintenance.withLock { $0.timer.take() }
    timer?.cancel()
    observers.end(store.feed)
    defer { events.drain() }
    try store.release()
  }

  func checkOpen() throws(CacheError) {
    if isClosed.load(ordering: .relaxed) { throw .closed }
  }

  /// See ``LMDBCache/flush()``.
  public func flush() throws(CacheError) {
    try checkOpen()
    try store.flush()
  }

  /// The state of this tier.
  public var health: CacheHealth {
    isClosed.load(ordering: .relaxed) ? .closed : store.health
  }

  /// The damage that opening set aside, or `nil`. Only the process that repaired it reports it.
  public var recovery: CacheRecovery? { store.recovery }

  /// Counters of the directory's disk tier since this process opened it, and the use of its files. Reads the files,
  /// which takes some microseconds.
  public var statistics: CacheStatistics {
    var statistics = CacheStatistics()
    store.counters.add(to: &statistics)
    store.journal.writes.add(to: &statistics)
    answer(()) { () throws(CacheError) in
      try checkOpen()
      try store.addSpace(to: &statistics)
    }
    return statistics
  }

  /// ``CacheStatistics/diskHits`` without reading the files.
  package var diskHits: Int {
    var statistics = CacheStatistics()
    store.counters.add(to: &statistics)
    return statistics.diskHits
  }

  // MARK: Limits. They belong to the directory: all caches of this process on it share them.

  /// The maximum number of entries. Enforced in the background every ``autoTrimInterval``, at once when exceeded by a
  /// tenth, and by ``trimToLimits()``. A negative number means no limit, `Int.max`, as in all limits.
  ///
  /// The least recently accessed entries go first. One with several accesses at separate times stays up to four times
  /// as long.
  public var countLimit: Int {
    get { store.trimmer.limits.withLock { $0.count } }
    set { store.trimmer.limits.withLock { $0.count = newValue < 0 ? .max : newValue } }
  }

  /// The maximum total cost; see ``countLimit``.
  public var costLimit: Int {
    get { store.trimmer.limits.withLock { $0.cost } }
    set { store.trimmer.limits.withLock { $0.cost = newValue < 0 ? .max : newValue } }
  }

  /// How long after its last access an entry stays; `nil` for no limit. Accesses are recorded to the minute.
  public var ageLimit: Duration? {
    get { store.trimmer.limits.withLock { $0.age } }
    set { store.trimmer.limits.withLock { $0.age = newValue.flatMap { $0 < .zero ? nil : $0 } } }
  }

  /// Bytes to leave free on the volume; 0 for no limit. When there are fewer, entries go in the order of
  /// ``countLimit``. Freed space is reused. It returns to the volume when more than half of a segment of the value log,
  /// or of the database's file, is free.
  public var freeDiskSpaceLimit: Int {
    get { store.trimmer.limits.withLock { $0.freeDiskSpace } }
    set { store.trimmer.limits.withLock { $0.freeDiskSpace = max(0, newValue) } }
  }

  /// How often limits are checked and maintenance runs in the background; 60 s by default. Zero or less: never.
  public var autoTrimInterval: Duration {
    get { maintenance.withLock { $0.interval } }
    set {
      let timer =
        newValue > .zero
        ? store.clock.repeating(every: newValue) { [weak store] in store?.maintenance.enqueue() } : nil
      let old = maintenance.withLock { maintenance in
        maintenance.interval = newValue
        defer { maintenance.timer = timer }
        return maintenance.timer.take()
      }
      old?.cancel()
    }
  }

  /// Values with more bytes than this are in the value log.
  public var inlineThreshold: Int { store.inlineThreshold }

  // MARK: Counts

  /// See ``LMDBCache/count``.
  public var count: Int { answer(0) { () throws(CacheError) in try entryCount() } }

  /// See ``LMDBCache/totalCost``.
  public var totalCost: Int { answer(0) { () throws(CacheError) in try totalEntryCost() } }

  /// See ``LMDBCache/entryCount()``.
  public func entryCount() throws(CacheError) -> Int {
    try checkOpen()
    return try store.count()
  }

  /// See ``LMDBCache/totalEntryCost()``.
  public func totalEntryCost() throws(CacheError) -> Int {
    try checkOpen()
    return try store.totalCost()
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

  /// The size of the cache's files on the disk in bytes, including the journal.
  public func bytesOnDisk() throws(CacheError) -> Int {
    try checkOpen()
    return try store.bytesOnDisk()
  }

  // MARK: Values

  /// See ``LMDBCache/value(_:forKey:)``.
  @inlinable
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) throws(CacheError) -> V? {
    // Inlinable, since only the caller's module knows the type; finding the record does not need it.
    if type == Data.self, let data = try bytes(forKey: key) { return unsafeBitCast(data, to: type) }
    var value: V?
    try visit(key) { (format, bytes) throws(CacheError) in
      value = try DiskCache.decode(type, format, bytes, key)
    }
    return value
  }

  /// Returns the value of an entry with `Data`, or `nil` if it is missing or has another type.
  @usableFromInline
  func bytes(forKey key: String) throws(CacheError) -> Data? {
    try checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    return try CacheKey.with(key) { (key) throws(CacheError) -> Data? in
      guard let record = try reader.readData(key), record.header.format == .bytes else { return nil }
      return record.payload
    }
  }

  @usableFromInline
  func visit(
    _ key: String, _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> Void
  ) throws(CacheError) {
    try checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    _ = try CacheKey.with(key) { (key) throws(CacheError) in
      try reader.read(key) { (record) throws(CacheError) in try body(record.header.format, record.payload) }
    }
  }

  @usableFromInline
  static func decode<V: Codable>(
    _ type: V.Type, _ format: ArchiveFormat, _ bytes: UnsafeRawBufferPointer, _ key: String
  ) throws(CacheError) -> V {
    try ValueArchiver.value(type, from: bytes, format: format, forKey: key)
  }

  /// See ``LMDBCache/contains(_:)``.
  public func contains(_ key: String) -> Bool {
    answer(false) { () throws(CacheError) in try containsValue(forKey: key) }
  }

  /// See ``LMDBCache/containsValue(forKey:)``.
  public func containsValue(forKey key: String) throws(CacheError) -> Bool {
    try entry(forKey: key) != nil
  }

  /// Commits all earlier writes; waits for the disk only as the durability requires.
  func commitPending() throws(CacheError) {
    try checkOpen()
    try store.commitPending()
  }

  // MARK: Objects

  public var objectCoding: ObjectCoding {
    get { coding.withLock { $0 } }
    set { changeCoding { $0 = newValue } }
  }

  /// See ``ObjectCoding/customArchive``.
  public var customArchive: (@Sendable (any NSCoding) throws -> Data)? {
    get { objectCoding.customArchive }
    set { changeCoding { $0.customArchive = newValue } }
  }

  /// See ``ObjectCoding/customUnarchive``.
  public var customUnarchive: (@Sendable (Data) throws -> any NSCoding)? {
    get { objectCoding.customUnarchive }
    set { changeCoding { $0.customUnarchive = newValue } }
  }

  /// Releases the old closures after the lock, since their `deinit` may use the cache.
  private func changeCoding(_ change: (inout ObjectCoding) -> Void) {
    let old = coding.withLock { coding in
      let old = coding
      change(&coding)
      return old
    }
    withExtendedLifetime(old) {}
  }

  // MARK: Many entries

  /// See ``LMDBCache/entries(withPrefix:)``.
  public func entries(withPrefix prefix: String = "") throws(CacheError) -> [CacheEntry] {
    try checkOpen()
    return try store.entries(withPrefix: prefix)
  }

  /// See ``LMDBCache/write(waitsForCommit:_:)``.
  public func write(waitsForCommit: Bool = false, _ body: (inout CacheBatch) throws -> Void) throws {
    try checkOpen()
    var batch = CacheBatch(self, isAwaited: waitsForCommit)
    try body(&batch)
    if let failure = batch.failure { throw failure }
    try store.write(batch.frames, waitsForCommit: waitsForCommit)
  }

  /// See ``LMDBCache/read(_:)``.
  public func read<R>(_ body: (borrowing CacheSnapshot) throws -> R) throws -> R {
    try checkOpen()
    return try store.withSnapshot { transaction in
      let snapshot = CacheSnapshot(self, transaction)
      return Result { try body(snapshot) }
    }.get()
  }

  /// See ``LMDBCache/withBytes(forKey:_:)``.
  @inlinable
  public func withBytes<R>(forKey key: String, _ body: (RawSpan) throws -> R) throws -> R? {
    var result: Result<R, any Error>?
    try borrowBytes(forKey: key) { bytes in result = Result { try body(bytes) } }
    return try result?.get()
  }

  @usableFromInline
  func borrowBytes(forKey key: String, _ body: (RawSpan) -> Void) throws(CacheError) {
    try checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in try reader.borrowBytes(key, body) }
  }

  // MARK: Trimming

  /// Removes expired entries, then others in the order of ``countLimit`` until at most `count` are left; returns when
  /// done. Readers are not blocked; writers wait no longer than one small transaction.
  ///
  /// - Throws: `.invalidArgument` for a negative number; `.closed`, `.storageFailed` and similar.
  public func trim(toCount count: Int) throws(CacheError) {
    try Self.checkGoal(count >= 0, "trim(toCount:)", "\(count)")
    try checkOpen()
    try store.trim(to: TrimGoal(count: count))
  }

  /// Trims as ``trim(toCount:)`` until the total cost is at most `cost`. 0 removes all, unless every cost is 0.
  public func trim(toCost cost: Int) throws(CacheError) {
    try Self.checkGoal(cost >= 0, "trim(toCost:)", "\(cost)")
    try checkOpen()
    try store.trim(to: TrimGoal(cost: cost))
  }

  private static func checkGoal(_ isRight: Bool, _ name: String, _ goal: String) throws(CacheError) {
    if !isRight {
      throw CacheError(
        .invalidArgument,
        "\(name) takes 0 or more, not \(goal); nothing was removed. To remove every entry: removeAll().")
    }
  }

  /// Removes expired entries and those whose last access is longer ago than `age`.
  public func trim(toAge age: Duration) throws(CacheError) {
    try Self.checkGoal(age >= .zero, "trim(toAge:)", "\(age)")
    try checkOpen()
    let (oldest, overflow) = store.clock.now.subtractingReportingOverflow(age.clampedNanoseconds)
    if overflow { return }
    try store.trim(to: TrimGoal(lastAccess: RecordHeader.seconds(oldest)))
  }

  /// Removes expired entries and those stored before `date`, regardless of later reads.
  ///
  /// - Parameter date: Rounded down to the second.
  /// - Throws: `.invalidArgument` for a date that is not a number.
  public func removeAll(createdBefore date: Date) throws(CacheError) {
    let seconds = date.timeIntervalSince1970
    try Self.checkGoal(!seconds.isNaN, "removeAll(createdBefore:)", "\(seconds)")
    try checkOpen()
    try store.trim(to: TrimGoal(created: UInt32(max(0, min(seconds, Double(UInt32.max))))))
  }

  /// Runs the background trim now: removes expired entries and enforces every limit.
  public func trimToLimits() throws(CacheError) {
    try checkOpen()
    try store.trimToLimits()
  }
}

extension DiskCache {
  // MARK: Many keys

  /// Returns the values under keys, in the order of the keys; `nil` for missing and expired ones. One transaction reads
  /// 256 keys; the values are not a snapshot.
  ///
  /// - Throws: as ``value(_:forKey:)``, for a key that cannot be read. The entries are kept.
  @inlinable
  public func values<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKeys keys: [String]
  ) throws(CacheError) -> [V?] {
    // Inlinable, since only the caller's module knows the type; finding the records does not need it.
    if type == Data.self { return unsafeBitCast(try dataValues(forKeys: keys), to: [V?].self) }
    var values = [V?](repeating: nil, count: keys.count)
    try visit(keys) { (index, format, bytes) throws(CacheError) in
      values[index] = try DiskCache.decode(type, format, bytes, keys[index])
    }
    return values
  }

  /// See ``LMDBCache/set(_:expiresIn:cost:)``. Throws also when the disk is full or fails.
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try set(values, expiresIn: expiresIn, cost: cost, through: nil)
  }

  /// See ``LMDBCache/removeValues(forKeys:)``.
  public func removeValues(forKeys keys: some Sequence<String>) throws(CacheError) {
    try removeValues(forKeys: keys, through: nil)
  }

  // MARK: With a memory tier or without

  func set<V: Codable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration?, cost: Int?, through memory: MemoryTier?
  ) throws(CacheError) {
    for (key, value) in values { try set(value, forKey: key, expiresIn: expiresIn, cost: cost, through: memory) }
  }

  func removeValues(forKeys keys: some Sequence<String>, through memory: MemoryTier?) throws(CacheError) {
    for key in keys { try removeValue(forKey: key, through: memory) }
  }

  // MARK: Parts that do not need the type

  /// Calls `body` with the index of each key with a live entry, and a copy of its archived bytes, in any order.
  @usableFromInline
  func visit(
    _ keys: [String], _ body: (Int, ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> Void
  ) throws(CacheError) {
    try checkOpen()
    try reader.read(keys) { (index, record, _) throws(CacheError) in
      try body(index, record.header.format, record.payload)
    }
  }

  @usableFromInline
  func dataValues(forKeys keys: [String]) throws(CacheError) -> [Data?] {
    try checkOpen()
    var values = [Data?](repeating: nil, count: keys.count)
    try reader.read(keys) { (index, record, owner) throws(CacheError) in
      let format = record.header.format
      values[index] =
        format == .bytes
        ? owner ?? Data(record.payload) : try Self.decode(Data.self, format, record.payload, keys[index])
    }
    return values
  }
}
