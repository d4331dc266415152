public import Foundation
import Logging
import Platform

extension LMDBCache {
  // MARK: Reading

  /// Returns the value under `key`, or `nil` if it is missing or has expired.
  ///
  /// - Throws: `.typeMismatch` for another stored type; `.decodingFailed`, `.corruptedRecord`, `.unsupportedRecord`,
  ///   `.missingTransform` or `.untransformed` for an unreadable entry; `.damagedDatabase`, `.lockTimeout` or
  ///   `.storageFailed` for the disk tier; `.closed`. The entry is always kept.
  @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String
  ) throws(CacheError) -> V? {
    try sharedValue(type, forKey: key)
  }

  /// For types that are not Sendable: threads share the values, as they do objects.
  @inlinable
  package func sharedValue<V: Codable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    // Inlinable, since only the caller's module knows the type; the look-up does not need it.
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    return try load(type, key)
  }

  /// The value, if it is in memory and not due for a reload.
  @inlinable
  package func valueInMemory<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    try memoryValue(of: ObjectIdentifier(type), forKey: key).map {
      unsafeDowncast($0, to: TypedMemoryValue<V>.self).value
    }
  }

  /// The value in memory, if it has this exact type and no other process has replaced it.
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

  /// Looks up an entry with another stored type, as entries with tags always have.
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

  /// Returns whether a live entry exists under `key`. Does not count as an access. Returns `false`, and logs, if the
  /// cache is closed or cannot be read: before writing a default, ask ``containsValue(forKey:)``.
  public func contains(_ key: String) -> Bool {
    if diskCache.contains(key) { return true }
    do throws(CacheError) { return try isInMemoryOnly(key) } catch { return false }
  }

  /// Returns whether a live entry exists under `key`, and throws if that cannot be determined.
  ///
  /// - Throws: `.closed`, `.storageFailed`, `.damagedDatabase`; `.unsupportedRecord` or `.corruptedRecord` for an
  ///   unreadable entry.
  public func containsValue(forKey key: String) throws(CacheError) -> Bool {
    if try diskCache.containsValue(forKey: key) { return true }
    return try isInMemoryOnly(key)
  }

  private func isInMemoryOnly(_ key: String) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in try memoryCache.valueAlone(key, in: store) != nil }
  }

  /// Reads from the disk and keeps the value in memory, unless the key is written in the meantime.
  @inlinable
  func load<V: Codable>(_ type: V.Type, _ key: String) throws(CacheError) -> V? {
    // This part does not need the type.
    let found = try load(key, isData: type == Data.self) { (format, bytes) throws(CacheError) -> MemoryValue in
      TypedMemoryValue.make(try DiskCache.decode(type, format, bytes, key), archiveLength: bytes.count)
    }
    guard let found else { return try valueAlone(type, key) }
    return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
  }

  /// Reads bytes if `isData`, which are copied only once; `decode` makes the value of any other record.
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

  /// Finds a value that is in memory only, because the disk fails, under another type or during a removal of many
  /// entries.
  @usableFromInline
  func valueAlone<V: Codable>(_ type: V.Type, _ key: String) throws(CacheError) -> V? {
    // Two steps: a cast to an optional type would turn a missing value into a value, nil.
    guard let found = try CacheKey.with(key, { (key) throws(CacheError) in try memoryCache.valueAlone(key, in: store) })
    else { return nil }
    return found.any as? V
  }

  /// Asks the disk, after another process has written, whether the entry in memory is still the newest.
  private func revalidate(_ key: String, _ stamp: UInt64) throws(CacheError) {
    try diskCache.checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in
      // Taken before the disk is read, so that a later removal counts.
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

  /// Stores a value under `key`, replacing any other.
  ///
  /// - Parameters:
  ///   - expiresIn: How long the entry lives. `nil` for ever; zero or less, not at all.
  ///   - cost: The entry's share of the cost limits of both tiers, 0 or more. `nil` for the bytes of key and archived
  ///     value.
  /// - Throws: `.encodingFailed`; `.invalidArgument` for a negative cost, a key of more than 16 MiB or a value of 4 GiB
  ///   or more; `.closed`; with ``Durability/full`` also `.notCommitted`, `.noSpace` and `.storageFailed`. Without it,
  ///   a full or failing disk does not throw: the value stays in memory while it fits and no other process writes, and
  ///   ``health`` reports it. With it, nothing changes, except that after `.notCommitted` the value is kept and its
  ///   commit retried.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.set(value, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  package func setShared<V: Codable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.set(value, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Removes the entry under `key`, if it exists.
  ///
  /// - Throws: `.invalidArgument` for a key of more than 16 MiB; `.closed`; with ``Durability/full`` also
  ///   `.notCommitted`, `.noSpace` and `.storageFailed`.
  public func removeValue(forKey key: String) throws(CacheError) {
    try diskCache.removeValue(forKey: key, through: memoryCache)
  }

  /// Removes every entry, in every process that shares the directory. Earlier writes never come back, even from
  /// journals of processes that die. If the disk is full or fails, ``health`` reports it, and this process finds
  /// nothing, but entries may reappear after it dies. With ``Durability/full`` it throws instead and removes nothing.
  public func removeAll() throws(CacheError) { try diskCache.removeAll(withPrefix: nil, through: memoryCache) }

  /// Removes every entry whose key starts with `prefix`, byte for byte.
  public func removeAll(withPrefix prefix: String) throws(CacheError) {
    try diskCache.removeAll(withPrefix: prefix, through: memoryCache)
  }

  /// Removes expired entries and those stored before `date`, regardless of later reads.
  ///
  /// - Parameter date: Rounded down to the second.
  /// - Throws: `.invalidArgument` for a date that is not a number; as ``trim(toAge:)``.
  public func removeAll(createdBefore date: Date) throws(CacheError) {
    try diskCache.removeAll(createdBefore: date)
  }

  // MARK: Many entries

  /// Returns a snapshot of the live entries whose keys start with `prefix`, in byte order of their keys.
  public func entries(withPrefix prefix: String = "") throws(CacheError) -> [CacheEntry] {
    try diskCache.entries(withPrefix: prefix)
  }

  /// Makes several changes as one: other readers, other processes and a crash see all of them or none.
  ///
  /// Returns when every reader of this process sees them and they survive its death, and with ``Durability/full`` when
  /// they are on the disk. Other processes see them within ``CacheConfiguration/Disk/groupCommitInterval``. A batch
  /// larger than a quarter of ``CacheConfiguration/Disk/journalSize`` is always committed before this returns.
  ///
  /// - Parameters:
  ///   - waitsForCommit: Returns when other processes see the changes.
  ///   - body: Collects the changes, which are made after it returns, unless it throws or a value cannot be encoded.
  /// - Throws: ``CacheError``, or any error of `body`. `.notCommitted` if the changes are made and kept, but a required
  ///   commit failed so far.
  public func write(waitsForCommit: Bool = false, _ body: (inout CacheBatch) throws -> Void) throws {
    try diskCache.write(waitsForCommit: waitsForCommit, body)
  }

  /// Reads from one consistent snapshot that includes all earlier writes of this process.
  ///
  /// Keep `body` short: an open snapshot keeps pages from reuse, and the file grows. It reads the disk tier only and
  /// counts no access.
  ///
  /// - Throws: ``CacheError``, or any error of `body`. `.notCommitted` while a write cannot be committed or is in
  ///   memory only, since the snapshot would be outdated.
  public func read<R>(_ body: (borrowing CacheSnapshot) throws -> R) throws -> R { try diskCache.read(body) }

  /// Calls `body` with the archived bytes of a value in place. Returns `nil` if it is missing.
  ///
  /// Meant for `Data` and arrays of scalars, whose archive is the bytes themselves. The span cannot leave `body`; keep
  /// it short, as with ``read(_:)``. The checksum is verified first. Bytes are copied if the value is not committed
  /// yet, or is in the value log, unless it has 16 KiB or more and is in memory. A failing device then is an error, not
  /// a signal.
  ///
  /// - Throws: as ``value(_:forKey:)``, or any error of `body`.
  @inlinable
  public func withBytes<R>(forKey key: String, _ body: (RawSpan) throws -> R) throws -> R? {
    try diskCache.withBytes(forKey: key, body)
  }

  // MARK: Trimming

  /// Removes entries from both tiers until each holds at most `count`.
  ///
  /// - Throws: `.invalidArgument` for a negative number, as the other trims do; `.closed`, `.storageFailed` and
  ///   similar.
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

extension LMDBCache {
  // MARK: Many keys

  /// Returns the values under keys, in the order of the keys; `nil` for missing and expired ones.
  ///
  /// Faster than single calls of ``value(_:forKey:)``, because several entries are fetched at once, in memory and in
  /// the database, with one transaction for every 256 keys that are not in memory. Long values do not gain, and all
  /// values are in memory together. The values are not a snapshot; ``read(_:)`` is.
  ///
  /// - Throws: as ``value(_:forKey:)``, for a key that cannot be read. The entries are kept.
  @inlinable
  public func values<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKeys keys: [String]
  ) throws(CacheError) -> [V?] {
    var values = [V?](repeating: nil, count: keys.count)
    let missing = try memoryValues(of: ObjectIdentifier(type), forKeys: keys) { index, found in
      values[index] = unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    if missing.isEmpty { return values }
    try load(keys, missing, isData: type == Data.self) { (index, format, bytes) throws(CacheError) -> MemoryValue in
      TypedMemoryValue.make(try DiskCache.decode(type, format, bytes, keys[index]), archiveLength: bytes.count)
    } keep: { index, found in
      values[index] = unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    for index in missing where values[index] == nil { values[index] = try valueAlone(type, keys[index]) }
    return values
  }

  /// Stores several values in turn with ``set(_:forKey:expiresIn:cost:)``. For all or none, use
  /// ``write(waitsForCommit:_:)``.
  ///
  /// - Parameters:
  ///   - expiresIn: How long each entry lives.
  ///   - cost: The cost of each entry.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``, at the first failure. Earlier values stay stored.
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.set(values, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Removes the entries under keys, one after the other.
  public func removeValues(forKeys keys: some Sequence<String>) throws(CacheError) {
    try diskCache.removeValues(forKeys: keys, through: memoryCache)
  }

  // MARK: Parts that do not need the type

  /// Calls `body` with the index and value of each key in memory; returns the other indices.
  @usableFromInline
  func memoryValues(
    of type: ObjectIdentifier, forKeys keys: [String], _ body: (Int, MemoryValue) -> Void
  ) throws(CacheError) -> [Int] {
    // Without keys, no look-up detects a closed cache.
    if keys.isEmpty { try diskCache.checkOpen() }
    var missing: [Int] = []
    var failure: CacheError?
    let tick = memoryCache.tick
    memoryCache.withHashes(of: keys) { index, hash in
      do throws(CacheError) {
        let found = try memoryValue(of: type, forKey: keys[index], hash: hash, tick: tick, isFetched: true)
        if let found {
          body(index, found)
        } else {
          missing.append(index)
        }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return missing
  }

  /// Reads keys from the disk and keeps the values in memory, unless a key is written in the meantime.
  ///
  /// - Parameters:
  ///   - numbers: The indices of the keys to read.
  ///   - isData: Whether bytes are wanted; long ones are copied only once.
  ///   - decode: Makes the value of any other record.
  ///   - keep: Receives each value.
  @usableFromInline
  func load(
    _ keys: [String], _ numbers: [Int], isData: Bool,
    _ decode: (Int, ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> MemoryValue,
    keep: (Int, MemoryValue) -> Void
  ) throws(CacheError) {
    try diskCache.checkOpen()
    let chosen = numbers.map { keys[$0] }
    let tokens = chosen.map { key in CacheKey.with(key) { memoryCache.token($0) } }
    try diskCache.reader.read(chosen) { (place, record, owner) throws(CacheError) in
      let format = record.header.format
      let value: MemoryValue =
        isData && format == .bytes
        ? TypedMemoryValue(owner ?? Data(record.payload)) : try decode(numbers[place], format, record.payload)
      CacheKey.with(chosen[place]) { key in
        memoryCache.keep(value, key, record, token: tokens[place])
      }
      keep(numbers[place], value)
    }
  }
}

extension LMDBCache {
  // MARK: Sliding expiry

  /// Returns the value under `key`, or `nil` if it is missing, and extends its life to `lifetime` from now.
  ///
  /// To save writes, the expiry moves only if that gains a tenth of `lifetime`, so the entry lives for at least nine
  /// tenths of it after its last such read. An entry that expires later, or never, is unchanged. If the expiry cannot
  /// be moved (the disk is full, for example), the value is still returned.
  ///
  /// - Parameter lifetime: More than zero.
  /// - Throws: as ``value(_:forKey:)``, and `.invalidArgument` for a lifetime of zero or less.
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, slidingExpiry lifetime: Duration
  ) throws(CacheError) -> V? {
    try DiskCache.checkLifetime(lifetime)
    guard let value = try value(type, forKey: key) else { return nil }
    diskCache.extend(key, by: lifetime, through: memoryCache)
    return value
  }
}

extension DiskCache {
  /// See ``LMDBCache/value(_:forKey:slidingExpiry:)``.
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, slidingExpiry lifetime: Duration
  ) throws(CacheError) -> V? {
    try Self.checkLifetime(lifetime)
    guard let value = try value(type, forKey: key) else { return nil }
    extend(key, by: lifetime, through: nil)
    return value
  }

  fileprivate static func checkLifetime(_ lifetime: Duration) throws(CacheError) {
    if lifetime > .zero { return }
    throw CacheError(.invalidArgument, "A sliding expiry is more than zero; \(lifetime) is not. Remove what is to go.")
  }

  fileprivate func extend(_ key: String, by lifetime: Duration, through memory: MemoryTier?) {
    let length = lifetime.clampedNanoseconds
    let due = store.clock.now.addingClamped(length - length / 10)
    do throws(CacheError) {
      // The common case.
      if let memory, let expires = CacheKey.with(key, { memory.expires($0) }), expires >= due { return }
      try touch(forKey: key, expires: .after(lifetime), unlessAt: due, through: memory)
    } catch {
      events.log(
        .debug, "cache entry not extended",
        ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
    }
  }
}
