public import Foundation

extension LMDBCache {
  // MARK: Reading

  /// Returns the value under `key`, or `nil` if there is none or it has expired.
  ///
  /// - Throws: `.typeMismatch` if something else is stored, `.decodingFailed`, `.corruptedRecord`, `.unsupportedRecord`,
  ///   `.missingTransform` or `.untransformed` for an entry that cannot be read; `.damagedDatabase`, `.lockTimeout` or
  ///   `.storageFailed` where the disk tier cannot be; `.closed`. The entry is kept in every case.
  @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String
  ) throws(CacheError) -> V? {
    try sharedValue(type, forKey: key)
  }

  /// The same for a type that is not Sendable: values are shared between the threads that read them, as objects are.
  @inlinable
  package func sharedValue<V: Codable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    // Inlinable, since only the caller's module knows the type: the look-up itself does not need it.
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    return try load(type, key)
  }

  /// The value, if it is in memory and not to be loaded anew.
  @inlinable
  package func valueInMemory<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    try memoryValue(of: ObjectIdentifier(type), forKey: key).map {
      unsafeDowncast($0, to: TypedMemoryValue<V>.self).value
    }
  }

  /// The value in memory, if it is of this very type and no other process has replaced it.
  @usableFromInline
  func memoryValue(of type: ObjectIdentifier, forKey key: String) throws(CacheError) -> MemoryValue? {
    if _slowPath(SampledOperation.memoryHit.isDue) { return try timedMemoryValue(of: type, forKey: key) }
    return try memoryValue(
      of: type, forKey: key, hash: memoryCache.hash(of: key), tick: memoryCache.tick, isFetched: false)
  }

  @inline(never)
  private func timedMemoryValue(of type: ObjectIdentifier, forKey key: String) throws(CacheError) -> MemoryValue? {
    let start = SampledOperation.memoryHit.begin()
    let value = try memoryValue(
      of: type, forKey: key, hash: memoryCache.hash(of: key), tick: memoryCache.tick, isFetched: false)
    if value != nil { store.counters.latencies.memoryHits.record(since: start) }
    return value
  }

  /// - Parameters: As of ``MemoryTier/look(up:hash:as:in:tick:isFetched:)``.
  @inline(__always)
  func memoryValue(
    of type: ObjectIdentifier, forKey key: String, hash: UInt64, tick: UInt32, isFetched: Bool
  ) throws(CacheError) -> MemoryValue? {
    switch memoryCache.look(up: key, hash: hash, as: type, in: store, tick: tick, isFetched: isFetched) {
    case .hit(let value): return value
    case .closed: throw .closed
    case .miss: return nil
    case .otherType(let value): return try taggedValue(value, as: type, key, hash)
    case .unvalidated(let stamp): return try revalidatedValue(as: type, key, hash, stamp: stamp)
    }
  }

  /// What was found is not stored as the type that was asked for; that of an entry with tags never is.
  private func taggedValue(
    _ value: MemoryValue, as type: ObjectIdentifier, _ key: String, _ hash: UInt64
  ) throws(CacheError) -> MemoryValue? {
    switch value.look(as: type, store.journal.tagRemovals.words) {
    case .current: return value
    case .otherType:
      memoryCache.noteNoHit()
      return nil
    case .touched(let stamp): return try revalidatedValue(as: type, key, hash, stamp: stamp)
    }
  }

  private func revalidatedValue(
    as type: ObjectIdentifier, _ key: String, _ hash: UInt64, stamp: UInt64
  ) throws(CacheError) -> MemoryValue? {
    memoryCache.noteNoHit()
    try revalidate(key, stamp)
    switch memoryCache.look(up: key, hash: hash, as: type, in: store) {
    case .hit(let value): return value
    case .miss, .closed: return nil
    case .otherType(let value):
      if case .current = value.look(as: type, store.journal.tagRemovals.words) { return value }
      memoryCache.noteNoHit()
      return nil
    case .unvalidated:
      memoryCache.noteNoHit()
      return nil
    }
  }

  /// Whether there is an entry under `key` that has not expired. Does not count as an access. False when the
  /// cache is closed, or it or the entry cannot be read, which is logged: before a default takes the place of what may be
  /// there, ask ``containsValue(forKey:)``.
  public func contains(_ key: String) -> Bool {
    if diskCache.contains(key) { return true }
    do throws(CacheError) { return try isInMemoryOnly(key) } catch { return false }
  }

  /// The same, but throws where it cannot be known.
  ///
  /// - Throws: `.closed`, `.storageFailed`, `.damagedDatabase`; `.unsupportedRecord` or `.corruptedRecord` where there is an
  ///   entry that cannot be read.
  public func containsValue(forKey key: String) throws(CacheError) -> Bool {
    if try diskCache.containsValue(forKey: key) { return true }
    return try isInMemoryOnly(key)
  }

  private func isInMemoryOnly(_ key: String) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in try memoryCache.valueAlone(key, in: store) != nil }
  }

  /// Reads from the disk and keeps the value in memory, unless the key is written meanwhile.
  @inlinable
  func load<V: Codable>(_ type: V.Type, _ key: String) throws(CacheError) -> V? {
    // As above: what finds and keeps the value does not need its type.
    let found = try load(key, isData: type == Data.self) { (format, bytes) throws(CacheError) -> MemoryValue in
      TypedMemoryValue.make(try DiskCache.decode(type, format, bytes, key), archiveLength: bytes.count)
    }
    guard let found else { return try valueAlone(type, key) }
    return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
  }

  /// - Parameters:
  ///   - isData: whether bytes are asked for, which are copied once only.
  ///   - decode: makes the value of any other record.
  @usableFromInline
  func load(
    _ key: String, isData: Bool, _ decode: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> MemoryValue
  ) throws(CacheError) -> MemoryValue? {
    try diskCache.checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    return try CacheKey.with(key) { (key) throws(CacheError) -> MemoryValue? in
      let token = memoryCache.token(key)
      if isData {
        guard let record = try diskCache.reader.readData(key) else { return nil }
        let value: MemoryValue
        if record.header.format == .bytes {
          value = TypedMemoryValue(record.payload)
        } else {
          value = try record.payload.withBytes { (bytes) throws(CacheError) in try decode(record.header.format, bytes) }
        }
        memoryCache.keep(value, key, record, token: token)
        return value
      }
      return try diskCache.reader.read(key) { (record) throws(CacheError) in
        let value = try decode(record.header.format, record.payload)
        memoryCache.keep(value, key, record, token: token)
        return value
      }
    }
  }

  /// A value that is in memory only, since the disk fails: asked for as another type than it was stored as, or while many
  /// entries are being removed.
  @usableFromInline
  func valueAlone<V: Codable>(_ type: V.Type, _ key: String) throws(CacheError) -> V? {
    // Not in one expression: of nothing an optional type would make a value, nil.
    guard let found = try CacheKey.with(key, { (key) throws(CacheError) in try memoryCache.valueAlone(key, in: store) })
    else { return nil }
    return found.any as? V
  }

  /// Asks the disk, after another process has written, whether the entry in memory is still the newest.
  private func revalidate(_ key: String, _ stamp: UInt64) throws(CacheError) {
    try diskCache.checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in
      // Before the disk is asked: a removal that comes later is not outlived.
      let mark = memoryCache.value(key, stamp: stamp)?.tagMark
      let removal = mark.map { store.journal.tagRemovals.words.latest(of: $0.tags) } ?? 0
      if let found = try store.header(key), found.header.stamp == stamp {
        memoryCache.revalidate(key, stamp: stamp, validated: found.validated)
      } else if try memoryCache.valueAlone(key, in: store) == nil {
        return memoryCache.discard(key, stamp: stamp)
      }
      mark?.noteOutlived(removal)
    }
  }

  // MARK: Writing

  /// Stores a value under `key`, in place of the one that is there.
  ///
  /// - Parameters:
  ///   - expiresIn: How long the entry lives. `nil` for ever; zero or less, not at all.
  ///   - cost: What the entry counts for against the cost limits of both tiers, 0 or more. `nil` for its size in
  ///     bytes: key and archived value.
  /// - Throws: `.encodingFailed`; `.invalidArgument` for a negative cost, a key of more than 16 MiB or a value of 4 GiB or
  ///   more; `.closed`; with ``Durability/full`` also `.notCommitted`, `.noSpace` and `.storageFailed`.
  ///   A full or failing disk is no error: the value is then kept in memory, as long as there is room and no other
  ///   process writes, and ``health`` says so. With ``Durability/full`` it is one, and nothing is changed; but after
  ///   `.notCommitted` the value is kept, and its commit is tried again.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.set(value, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// The same for a type that is not Sendable: see ``sharedValue(_:forKey:)``.
  package func setShared<V: Codable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.set(value, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Removes the entry under `key`, if there is one.
  ///
  /// - Throws: `.invalidArgument` for a key of more than 16 MiB; `.closed`; with ``Durability/full`` also
  ///   `.notCommitted`, `.noSpace` and `.storageFailed`.
  public func removeValue(forKey key: String) throws(CacheError) {
    try diskCache.removeValue(forKey: key, through: memoryCache)
  }

  /// Removes every entry, in every process that shares the directory. Nothing written before comes back, also
  /// not from journals of processes that die. Where the disk is full or fails, ``health`` says so, and this process finds
  /// nothing; what could not be removed may be there again if it dies. With ``Durability/full`` it throws instead, and
  /// nothing is removed.
  public func removeAll() throws(CacheError) { try diskCache.removeAll(withPrefix: nil, through: memoryCache) }

  /// Removes every entry whose key starts with `prefix`, byte for byte.
  public func removeAll(withPrefix prefix: String) throws(CacheError) {
    try diskCache.removeAll(withPrefix: prefix, through: memoryCache)
  }

  /// Removes expired entries and those that were stored before `date`, however often they were read since.
  ///
  /// - Parameter date: Rounded down to the second.
  /// - Throws: `.invalidArgument` for a date that is not a number; as ``trim(toAge:)``.
  public func removeAll(createdBefore date: Date) throws(CacheError) {
    try diskCache.removeAll(createdBefore: date)
  }

  // MARK: Many entries

  /// The live entries whose keys start with `prefix`, in byte order of their keys, as of one moment.
  public func entries(withPrefix prefix: String = "") throws(CacheError) -> [CacheEntry] {
    try diskCache.entries(withPrefix: prefix)
  }

  /// Makes several changes as one: other readers, other processes and a crash see all of them or none.
  ///
  /// Returns when every reader of this process sees them and they survive its death, as `set` does, and in
  /// ``Durability/full`` when they are on the disk. Other processes see them when they are committed, which takes
  /// ``CacheConfiguration/Disk/groupCommitInterval`` at most. A batch that is larger than a quarter of
  /// ``CacheConfiguration/Disk/journalSize`` is always committed before this returns.
  ///
  /// - Parameters:
  ///   - waitsForCommit: Returns when other processes see the changes.
  ///   - body: Collects the changes; nothing happens before it returns, or if it throws. A value that cannot be encoded
  ///     makes the whole call throw.
  /// - Throws: ``CacheError``, or what `body` throws, whatever its type. `.notCommitted` if the changes are made and kept,
  ///   but a commit that was waited for failed so far.
  public func write(waitsForCommit: Bool = false, _ body: (inout CacheBatch) throws -> Void) throws {
    try diskCache.write(waitsForCommit: waitsForCommit, body)
  }

  /// Reads from one consistent snapshot that includes every write that returned before.
  ///
  /// Keep `body` short: while a snapshot is open the file cannot reuse pages and grows. It reads the disk tier
  /// only and counts no access.
  ///
  /// - Throws: ``CacheError``, or what `body` throws, whatever its type. `.notCommitted` as long as a write cannot be
  ///   committed, or is in memory only: the snapshot would be older than what was read.
  public func read<R>(_ body: (borrowing CacheSnapshot) throws -> R) throws -> R { try diskCache.read(body) }

  /// Calls `body` with the archived bytes of a value where they lie, without a copy. Returns `nil` if there is
  /// none.
  ///
  /// Meant for `Data` and arrays of scalars, whose archive is the bytes themselves. The span cannot leave `body`;
  /// keep it short, for the reason given at ``read(_:)``. The bytes are verified against their checksum first. Those of a
  /// value that waits for its commit are copied, and so are those of one in the value log, unless it has 16 KiB or more
  /// and is in memory: a device that fails is an error then, and no signal.
  ///
  /// - Throws: as ``value(_:forKey:)``, or what `body` throws, whatever its type.
  @inlinable
  public func withBytes<R>(forKey key: String, _ body: (RawSpan) throws -> R) throws -> R? {
    try diskCache.withBytes(forKey: key, body)
  }

  // MARK: Trimming

  /// Removes entries from both tiers until each holds at most `count`.
  ///
  /// - Throws: `.invalidArgument` for a number that is less than 0, as the other trims do; `.closed`, `.storageFailed` and the
  ///   like.
  public func trim(toCount count: Int) throws(CacheError) {
    try diskCache.trim(toCount: count)
    memoryCache.trim(toCount: count)
  }

  /// Removes entries from both tiers until each costs at most `cost`.
  public func trim(toCost cost: Int) throws(CacheError) {
    try diskCache.trim(toCost: cost)
    memoryCache.trim(toCost: cost)
  }

  /// Removes the entries of both tiers whose last access is longer ago than `age`.
  public func trim(toAge age: Duration) throws(CacheError) {
    try diskCache.trim(toAge: age)
    memoryCache.trim(toAge: age)
  }
}
