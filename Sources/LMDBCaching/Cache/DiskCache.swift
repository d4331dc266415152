public import Foundation
import Platform
import LMDB
import Logging
import Synchronization

/// The disk tier alone: what ``LMDBCache`` keeps in its directory, and a cache of its own for values that should
/// not take up memory.
///
/// Threads, processes, keys and errors are as ``LMDBCache`` says, but for a disk that is full or fails: there is
/// no memory tier to go on in, so writes throw then.
public final class DiskCache: Sendable {
  let store: DiskStore
  /// What this object was opened with.
  let configuration: CacheConfiguration
  /// Reads and, by its transforms, writes values as this object's configuration says.
  let reader: RecordReader
  let events: EventLog
  private let coding: Mutex<ObjectCoding>
  private let isClosed = Atomic<Bool>(false)
  private let isReadFailureLogged = Atomic<Bool>(false)
  private let maintenance: Mutex<Maintenance>
  let observers = ChangeObservers()

  let background = BackgroundQueue()

  /// Nanoseconds by which the wall clock may be believed to have been ahead: a day.
  private static let greatestClockError: Int64 = 86_400_000_000_000

  private struct Maintenance {
    var interval: Duration = .seconds(60)
    var timer: CacheTimer?
  }

  /// Opens, or makes, the cache in a directory; see ``LMDBCache/init(directory:configuration:)``. The memory limits
  /// of the configuration mean nothing here.
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
    // The stamps of writes are wall-clock times, of all processes: the time is not before the last one's. One that is far
    // ahead was made by a clock that was wrong, or by nobody's.
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

  /// What opening had to set aside because it was damaged, or `nil` if nothing was. Only the process that did so knows:
  /// others that open the directory later find the new cache sound.
  public var recovery: CacheRecovery? { store.recovery }

  /// What the directory's disk tier has done since this process opened it, and what its files are used for. Looks at the
  /// files: it takes some microseconds.
  public var statistics: CacheStatistics {
    var statistics = CacheStatistics()
    store.counters.add(to: &statistics)
    store.journal.writes.add(to: &statistics)
    answer(()) { () throws(CacheError) in
      try checkOpen()
      try store.meter.add(to: &statistics)
    }
    return statistics
  }

  /// ``CacheStatistics/diskHits`` alone, which needs no look at the files.
  package var diskHits: Int {
    var statistics = CacheStatistics()
    store.counters.add(to: &statistics)
    return statistics.diskHits
  }

  // MARK: Limits. They belong to the directory: every cache of this process on it shares them.

  /// How many entries it holds at most. Kept in the background, every ``autoTrimInterval`` and at once when it is
  /// exceeded by a tenth, and by ``trimToLimits()``. Less than 0 is taken for no limit, `Int.max`, as with the other limits.
  ///
  /// Those go first whose last access is longest ago. One that was accessed again, at times that are apart, stays up to
  /// four times as long as one that was not.
  public var countLimit: Int {
    get { store.trimmer.limits.withLock { $0.count } }
    set { store.trimmer.limits.withLock { $0.count = newValue < 0 ? .max : newValue } }
  }

  /// The greatest total cost; see ``countLimit``.
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
  /// ``countLimit``. The space of values is given back when more than half of a segment of the value log is free, that of the
  /// database's file when more than half of it is; what was freed is used again until then.
  public var freeDiskSpaceLimit: Int {
    get { store.trimmer.limits.withLock { $0.freeDiskSpace } }
    set { store.trimmer.limits.withLock { $0.freeDiskSpace = max(0, newValue) } }
  }

  /// How often limits are checked and maintenance is done in the background; 60 s by default. With zero or less, never.
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

  /// Values longer than this many bytes are in the value log beside the database.
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

  /// What `read` returns, or, where it throws, `fallback`: then the error is logged, once until a read succeeds.
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

  /// Bytes that the cache's files occupy on the disk, the journal included.
  public func bytesOnDisk() throws(CacheError) -> Int {
    try checkOpen()
    return try store.bytesOnDisk()
  }

  // MARK: Values

  /// See ``LMDBCache/value(_:forKey:)``.
  @inlinable
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) throws(CacheError) -> V? {
    // Inlinable, since only the caller's module knows the type: what finds the record does not need it.
    if type == Data.self, let data = try bytes(forKey: key) { return unsafeBitCast(data, to: type) }
    var value: V?
    try visit(key) { (format, bytes) throws(CacheError) in
      value = try DiskCache.decode(type, format, bytes, key)
    }
    return value
  }

  /// Returns the value of an entry that holds `Data`, or `nil` if there is none or it is of another type.
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

  /// Calls `body` with a copy of the archived bytes of a live entry.
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

  /// Commits everything written so far, without waiting for the disk longer than the durability asks.
  func commitPending() throws(CacheError) {
    try checkOpen()
    try store.commitPending()
  }

  // MARK: Objects

  /// How this cache archives and reads NSCoding objects.
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

  /// The old closures are released after the lock: a `deinit` that they cause may use the cache.
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

  /// Removes expired entries, and others in the order of ``countLimit`` until at most `count` are left; returns when it is
  /// done. Readers are not held up, and writers not for longer than one small transaction.
  ///
  /// - Throws: `.invalidArgument` for a number that is less than 0; `.closed`, `.storageFailed` and the like.
  public func trim(toCount count: Int) throws(CacheError) {
    try Self.checkGoal(count >= 0, "trim(toCount:)", "\(count)")
    try checkOpen()
    try store.trim(to: TrimGoal(count: count))
  }

  /// The same until the total cost is at most `cost`. With 0 every entry goes, unless none costs anything.
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

  /// Removes expired entries and those that were stored before `date`, however often they were read since.
  ///
  /// - Parameter date: Rounded down to the second.
  /// - Throws: `.invalidArgument` for a date that is not a number.
  public func removeAll(createdBefore date: Date) throws(CacheError) {
    let seconds = date.timeIntervalSince1970
    try Self.checkGoal(!seconds.isNaN, "removeAll(createdBefore:)", "\(seconds)")
    try checkOpen()
    try store.trim(to: TrimGoal(created: UInt32(max(0, min(seconds, Double(UInt32.max))))))
  }

  /// Does now what is done in the background: removes expired entries, and keeps every limit.
  public func trimToLimits() throws(CacheError) {
    try checkOpen()
    try store.trimToLimits()
  }
}
