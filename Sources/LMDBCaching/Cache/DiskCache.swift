public import Foundation
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
  private let coding: Mutex<ObjectCoding>
  private let isClosed = Atomic<Bool>(false)
  private let maintenance: Mutex<Maintenance>
  let observers = ChangeObservers()

  private struct Maintenance {
    var interval: Duration = .seconds(60)
    var timer: CacheTimer?
  }

  /// Opens, or makes, the cache in a directory; see ``LMDBCache/init(directory:configuration:)``. The memory limits
  /// of the configuration mean nothing here.
  public init(directory: URL, configuration: CacheConfiguration = CacheConfiguration()) throws(CacheError) {
    guard directory.isFileURL else {
      throw CacheError(.invalidArgument, "\(directory) is no file URL; make one with URL(fileURLWithPath:).")
    }
    store = try DiskStore.open(directory: directory.path, configuration: configuration)
    coding = Mutex(configuration.objectCoding)
    maintenance = Mutex(Maintenance())
    autoTrimInterval = .seconds(60)
  }

  deinit {
    do throws(CacheError) {
      try close()
    } catch {
      store.logger.error("cache not closed cleanly", metadata: ["error": "\(error)"])
    }
  }

  /// The directory, in its canonical form.
  public var directory: URL { URL(fileURLWithPath: store.directory, isDirectory: true) }

  /// See ``LMDBCache/close()``.
  public func close() throws(CacheError) {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    let timer = maintenance.withLock { $0.timer.take() }
    timer?.cancel()
    if store.environment.isForked { return }
    observers.end(store.feed)
    try store.release()
  }

  func checkOpen() throws(CacheError) {
    if isClosed.load(ordering: .relaxed) { throw .closed }
    // Its locks may be held by threads that are not here, and its journal is the parent's.
    if store.environment.isForked { throw .forked }
  }

  /// See ``LMDBCache/flush()``.
  public func flush() throws(CacheError) {
    try checkOpen()
    try store.flush()
  }

  /// The state of this tier.
  public var health: CacheHealth {
    isClosed.load(ordering: .relaxed) || store.environment.isForked ? .closed : store.health
  }

  /// What opening had to set aside, since it was damaged; nil: nothing. Of this process: others that opened the
  /// directory since find the new cache sound.
  public var recovery: CacheRecovery? { store.recovery }

  /// What the directory's disk tier has done since this process opened it.
  public var statistics: CacheStatistics {
    var statistics = CacheStatistics()
    store.counters.add(to: &statistics)
    return statistics
  }

  // MARK: Limits. They belong to the directory: every cache of this process on it shares them.

  /// How many entries it holds at most. Kept in the background, every ``autoTrimInterval`` and at once when it is
  /// exceeded by a tenth, and by ``trimToLimits()``. The least recently used entries go first.
  public var countLimit: Int {
    get { store.trimmer.limits.withLock { $0.count } }
    set { store.trimmer.limits.withLock { $0.count = max(0, newValue) } }
  }

  /// The greatest total cost; see ``countLimit``.
  public var costLimit: Int {
    get { store.trimmer.limits.withLock { $0.cost } }
    set { store.trimmer.limits.withLock { $0.cost = max(0, newValue) } }
  }

  /// How long after its last access an entry stays; nil for no limit. Accesses are recorded to the minute.
  public var ageLimit: Duration? {
    get { store.trimmer.limits.withLock { $0.age } }
    set { store.trimmer.limits.withLock { $0.age = newValue } }
  }

  /// Bytes to leave free on the volume; 0 for no limit. When there are fewer, the least recently used entries
  /// go. Value files give their space back; the database's file never shrinks, but uses what was freed again, so
  /// it stops growing.
  public var freeDiskSpaceLimit: Int {
    get { store.trimmer.limits.withLock { $0.freeDiskSpace } }
    set { store.trimmer.limits.withLock { $0.freeDiskSpace = max(0, newValue) } }
  }

  /// How often limits are looked at and maintenance is done in the background; 60 s by default. Not positive: never.
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

  /// Values longer than this many bytes are files of their own.
  public var inlineThreshold: Int { store.inlineThreshold }

  // MARK: Counts

  /// See ``LMDBCache/count``.
  public var count: Int { counted { () throws(CacheError) in try store.count() } }

  /// See ``LMDBCache/totalCost``.
  public var totalCost: Int { counted { () throws(CacheError) in try store.totalCost() } }

  private func counted(_ read: () throws(CacheError) -> Int) -> Int {
    do throws(CacheError) {
      try checkOpen()
      return try read()
    } catch {
      if error.code != .closed { store.logger.warning("cache not counted", metadata: ["error": "\(error)"]) }
      return 0
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

  /// The value of an entry that holds `Data`; nil: there is none, or of another type.
  @usableFromInline
  func bytes(forKey key: String) throws(CacheError) -> Data? {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) -> Data? in
      guard let record = try store.readData(key), record.header.format == .bytes else { return nil }
      return record.payload
    }
  }

  /// Calls `body` with a copy of the archived bytes of a live entry.
  @usableFromInline
  func visit(
    _ key: String, _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> Void
  ) throws(CacheError) {
    try checkOpen()
    _ = try CacheKey.with(key) { (key) throws(CacheError) in
      try store.read(key) { (record) throws(CacheError) in try body(record.header.format, record.payload) }
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
    do throws(CacheError) {
      try checkOpen()
      return try CacheKey.with(key) { (key) throws(CacheError) in
        guard let (header, _) = try store.header(key) else { return false }
        return !header.isExpired(at: store.clock.now)
      }
    } catch {
      return false
    }
  }

  /// See ``LMDBCache/set(_:forKey:expiresIn:cost:)``. Throws also when the disk is full or fails.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try checkOpen()
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      try CacheKey.with(key) { (key) throws(CacheError) in
        let header = try store.header(for: key, format, bytes, expiresIn: expiresIn, cost: cost)
        try require(try store.put(key, header: header, payload: bytes, by: nil))
      }
    }
  }

  /// See ``LMDBCache/removeValue(forKey:)``.
  public func removeValue(forKey key: String) throws(CacheError) {
    try checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in try require(try store.remove(key, by: nil)) }
  }

  /// See ``LMDBCache/removeAll()``.
  public func removeAll() throws(CacheError) {
    try checkOpen()
    try require(try store.removeAll(withPrefix: nil, by: nil))
  }

  /// See ``LMDBCache/removeAll(withPrefix:)``.
  public func removeAll(withPrefix prefix: String) throws(CacheError) {
    try checkOpen()
    try require(try store.removeAll(withPrefix: prefix, by: nil))
  }

  private func require(_ outcome: WriteOutcome) throws(CacheError) {
    if let failure = outcome.failure { throw failure }
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
    set { coding.withLock { $0 = newValue } }
  }

  /// See ``ObjectCoding/customArchive``.
  public var customArchive: (@Sendable (any NSCoding) throws -> Data)? {
    get { objectCoding.customArchive }
    set { coding.withLock { $0.customArchive = newValue } }
  }

  /// See ``ObjectCoding/customUnarchive``.
  public var customUnarchive: (@Sendable (Data) throws -> any NSCoding)? {
    get { objectCoding.customUnarchive }
    set { coding.withLock { $0.customUnarchive = newValue } }
  }

  /// See ``LMDBCache/object(forKey:)``; every call makes a new object.
  public func object(forKey key: String) throws(CacheError) -> (any NSCoding)? {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in
      guard let record = try store.readData(key) else { return nil }
      return try ObjectArchiver.object(
        from: record.payload, format: record.header.format, with: objectCoding, forKey: key.string)
    }
  }

  /// See ``LMDBCache/setObject(_:forKey:expiresIn:cost:)``. Throws also when the disk is full or fails.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try checkOpen()
    guard let object else { return try removeValue(forKey: key) }
    try ObjectArchiver.withArchive(of: object, with: objectCoding) { (format, bytes) throws(CacheError) in
      try CacheKey.with(key) { (key) throws(CacheError) in
        let header = try store.header(for: key, format, bytes, expiresIn: expiresIn, cost: cost)
        try require(try store.put(key, header: header, payload: bytes, by: nil))
      }
    }
  }

  // MARK: Many entries

  /// See ``LMDBCache/entries(withPrefix:)``.
  public func entries(withPrefix prefix: String = "") throws(CacheError) -> [CacheEntry] {
    try checkOpen()
    return try store.entries(withPrefix: prefix)
  }

  /// See ``LMDBCache/write(_:)``.
  public func write(_ body: (inout CacheBatch) throws -> Void) throws {
    try checkOpen()
    var batch = CacheBatch(store)
    try body(&batch)
    if let failure = batch.failure { throw failure }
    try store.write(batch.frames)
  }

  /// See ``LMDBCache/read(_:)``.
  public func read<R>(_ body: (borrowing CacheSnapshot) throws -> R) throws -> R {
    try checkOpen()
    return try store.withSnapshot { transaction in
      let snapshot = CacheSnapshot(store, transaction)
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
    try CacheKey.with(key) { (key) throws(CacheError) in try store.borrowBytes(key, body) }
  }

  // MARK: Trimming

  /// Removes expired entries, and the least recently used ones until at most `count` are left; returns when it is
  /// done. Readers are not held up, and writers not for longer than one small transaction.
  public func trim(toCount count: Int) throws(CacheError) {
    try checkOpen()
    try store.trim(to: TrimGoal(count: max(0, count)))
  }

  /// The same until the total cost is at most `cost`.
  public func trim(toCost cost: Int) throws(CacheError) {
    try checkOpen()
    try store.trim(to: TrimGoal(cost: max(0, cost)))
  }

  /// Removes expired entries and those whose last access is longer ago than `age`.
  public func trim(toAge age: Duration) throws(CacheError) {
    try checkOpen()
    let oldest = RecordHeader.seconds(store.clock.now - max(0, age.clampedNanoseconds))
    try store.trim(to: TrimGoal(lastAccess: oldest))
  }

  /// Does now what is done in the background: removes expired entries, and keeps every limit.
  public func trimToLimits() throws(CacheError) {
    try checkOpen()
    try store.trimToLimits()
  }
}
