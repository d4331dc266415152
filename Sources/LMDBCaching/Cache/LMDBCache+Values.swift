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
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) throws(CacheError) -> V? {
    try sharedValue(type, forKey: key)
  }

  /// For types that are not Sendable: threads share the values, as they do objects.
  @inlinable
  package func sharedValue<V: Codable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    // Inlinable, since only the caller's module knows the type; the look-up does not need it.
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafe found.value(V.self)
    }
    return try load(type, key)
  }

  /// Returns the value under `key`, or `nil` if it is missing, and moves its expiry.
  ///
  /// If the expiry cannot be moved (the disk is full, for example), the value is still returned.
  ///
  /// - Parameter expires: Usually ``Expiry/sliding(_:)``.
  /// - Throws: as ``value(_:forKey:)``, and `.invalidArgument` for a sliding expiry of zero or less.
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expires: Expiry
  ) throws(CacheError) -> V? {
    _ = try expires.nanoseconds(in: store, current: 0)
    guard let value = try value(type, forKey: key) else { return nil }
    var due: Int64?
    if case .sliding(let duration) = expires.kind {
      let length = duration.clampedNanoseconds
      let latest = store.clock.now.addingClamped(length - length / 10)
      // The common case.
      if let expires = CacheKey.with(key, { tier?.expires($0) }), expires >= latest { return value }
      due = latest
    }
    do throws(CacheError) {
      try touch(forKey: key, expires: expires, unlessAt: due)
    } catch {
      events.log(
        .debug, "cache entry not extended",
        ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
    }
    return value
  }

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
      values[index] = unsafe found.value(V.self)
    }
    if missing.isEmpty { return values }
    try load(keys, missing, isData: type == Data.self) { (index, format, bytes, data) throws(CacheError) in
      // Not `as?`: it casts `nil` to any optional type.
      let value = if let data { data as! V } else { try Self.decode(type, format, bytes, keys[index]) }
      values[index] = value
      return keepsValuesInMemory ? TypedMemoryValue.make(value, archiveLength: bytes.count) : nil
    }
    return values
  }

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
    var result: Result<R, any Error>?
    try borrowBytes(forKey: key) { bytes in result = Result { try body(bytes) } }
    return try result?.get()
  }

  @usableFromInline
  func borrowBytes(forKey key: String, _ body: (RawSpan) -> Void) throws(CacheError) {
    try checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in try reader.borrowBytes(key, body) }
  }

  /// Returns the properties of an entry without its value, or `nil` if it is missing or has expired. Not an access.
  ///
  /// - Throws: `.closed`, `.storageFailed`, `.corruptedRecord`, `.unsupportedRecord`.
  public func entry(forKey key: String) throws(CacheError) -> CacheEntry? {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in try reader.entry(key) }
  }

  /// Returns whether a live entry exists under `key`. Not an access.
  ///
  /// - Throws: `.closed`, `.storageFailed`, `.damagedDatabase`; `.unsupportedRecord` or `.corruptedRecord` for an
  ///   unreadable entry.
  public func contains(_ key: String) throws(CacheError) -> Bool {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in try isPresent(key) }
  }

  /// Whether an entry exists.
  ///
  /// - Throws: `.unsupportedRecord` and `.corruptedRecord` for an unreadable entry, which must not be overwritten.
  func isPresent(_ key: CacheKey) throws(CacheError) -> Bool {
    try reader.entry(key) != nil
  }

  /// Returns a snapshot of the live entries whose keys start with `prefix`, in byte order of their keys. For many entries,
  /// use ``entries(withPrefix:pageSize:)``.
  public func entries(withPrefix prefix: String = "") throws(CacheError) -> [CacheEntry] {
    try checkOpen()
    return try store.entries(withPrefix: prefix)
  }

  // MARK: Writing

  /// Stores a value under `key`, replacing any other.
  ///
  /// - Parameters:
  ///   - expires: When the entry expires; `.unchanged` keeps the expiry of the replaced one.
  ///   - cost: The entry's share of the cost limits of both tiers, 0 or more. `nil` for the bytes of key and archived
  ///     value.
  ///   - tags: For ``removeAll(_:)``. Any strings, up to 64 different ones; each takes eight bytes of the entry. The next
  ///     `set` of the key replaces them; ``update(_:forKey:expires:cost:_:)`` and ``touch(forKey:expires:)`` keep them.
  /// - Throws: `.encodingFailed`; `.invalidArgument` for a negative cost, too many tags, a key of more than 16 MiB or a
  ///   value of 4 GiB or more; `.closed`. While the disk is full or fails, the journal keeps the value, as ``health``
  ///   reports; once the journal is full, `.noSpace` or `.storageFailed`, and nothing changes. `.notCommitted` with
  ///   ``Durability/full``: the value is kept and its commit retried. With `.unchanged` also as
  ///   ``set(_:forKey:expires:cost:tags:if:)``.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = []
  ) throws(CacheError) {
    try setShared(value, forKey: key, expires: expires, cost: cost, tags: tags)
  }

  /// For types that are not Sendable.
  package func setShared<V: Codable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = []
  ) throws(CacheError) {
    let tags = try EntryTags.make(tags)
    if case .unchanged = expires.kind {
      try withNewEntry(value, key, cost: cost) { (new) throws(CacheError) in
        try replace(with: new, tags)
        return true
      }
      return
    }
    let start = SampledOperation.write.start()
    let time = try expires.nanoseconds(in: store, current: 0)
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      let memoryValue = tier == nil ? nil : TypedMemoryValue.make(value, archiveLength: bytes.count)
      try put(memoryValue, format, bytes, forKey: key, expires: time, cost: cost, tags: tags)
    }
    store.counters.latencies.writes.record(since: start)
  }

  /// Stores several values in turn. For all or none, use ``write(waitsForCommit:_:)``.
  ///
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``, at the first failure. Earlier values stay stored.
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expires: Expiry = .never, cost: Int? = nil, tags: [String] = []
  ) throws(CacheError) {
    for (key, value) in values { try set(value, forKey: key, expires: expires, cost: cost, tags: tags) }
  }

  func put(
    _ value: MemoryValue?, _ format: ArchiveFormat, _ bytes: ByteView, forKey key: String,
    expires: Int64, cost: Int?, tags: EntryTags?
  ) throws(CacheError) {
    try checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in
      var header = try store.header(for: key, format, bytes, expires: expires, cost: cost)
      header.tags = tags?.hashes
      try put(value, key, header, tags, bytes)
    }
  }

  /// Writes only if `condition`, if given, holds at the moment of the write.
  @inline(__always)
  func put(
    _ value: MemoryValue?, _ key: CacheKey, _ header: RecordHeader, _ tags: EntryTags?,
    _ bytes: ByteView, if condition: (() -> Bool)? = nil
  ) throws(CacheError) {
    let outcome = try store.put(
      key, header: header, payload: bytes, through: reader.transforms, by: tier, if: condition)
    if outcome.isRefused { return }
    try didPut(value, key, header, tags, outcome)
  }

  /// Notifies the observers if `tells`; the store does so for transactions.
  @inline(__always)
  func didPut(
    _ value: MemoryValue?, _ key: CacheKey, _ header: RecordHeader, _ tags: EntryTags?, _ outcome: WriteOutcome,
    tells: Bool = true
  ) throws(CacheError) {
    if tags != nil { store.journal.tagRemovals.noteUse() }
    guard let value, let tier else { return try didChange(key, outcome, tells: tells) }
    tier.insert(value, key, header, tags, outcome)
    if tells { store.feed.noteChange(key, outcome.stamp) }
    try outcome.checkCommitted()
  }

  /// Called after a removal, or a write that bypasses the memory tier.
  func didChange(_ key: CacheKey, _ outcome: WriteOutcome, tells: Bool = true) throws(CacheError) {
    if let tier {
      tier.remove(key, stamp: outcome.stamp)
      if tells { store.feed.noteChange(key, outcome.stamp) }
    }
    try outcome.checkCommitted()
  }

  // MARK: Removing

  /// Removes the entry under `key`, if it exists.
  ///
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``.
  public func removeValue(forKey key: String) throws(CacheError) {
    try checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in try didChange(key, store.remove(key, by: tier)) }
  }

  /// Removes entries, in every process that shares the directory, as one change; those of ``CacheSelection/keys(_:)`` and
  /// ``CacheSelection/createdBefore(_:)`` in turn.
  ///
  /// All entries, a prefix or a tag take as long as one entry: the removal is recorded, which hides all older entries at
  /// once. Earlier writes never come back, even from journals of processes that die. On a full disk a removal of
  /// all entries or of a prefix makes room for itself.
  ///
  /// Entries with a removed tag are deleted from the files within seconds, or later after many removals; ``count`` and
  /// ``totalCost`` include them until then. A process that was suspended for more than an hour loses its uncommitted
  /// writes of tagged entries, because the removals of that time may be forgotten.
  ///
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``; `.notCommitted` while commits fail and the journal is full, though
  ///   the removal is kept and tried again; `.invalidArgument` for a date that is not a number.
  public func removeAll(_ selection: CacheSelection = .all) throws(CacheError) {
    try checkOpen()
    switch selection {
    case .all: try store.removeAll(withPrefix: nil, by: tier).checkCommitted()
    case .prefix(let prefix): try store.removeAll(withPrefix: prefix, by: tier).checkCommitted()
    case .tag(let tag): try store.removeAll(tags: [EntryTags.hash(tag)])
    case .tags(let tags): try store.removeAll(tags: Set(tags.map(EntryTags.hash)).sorted())
    case .keys(let keys): for key in keys { try removeValue(forKey: key) }
    case .createdBefore(let date):
      let seconds = date.timeIntervalSince1970
      if seconds.isNaN {
        throw CacheError(.invalidArgument, "The date of a removal is not a number; nothing was removed.")
      }
      try store.trim(to: TrimGoal(created: UInt32(max(0, min(seconds, Double(UInt32.max))))))
    }
  }
}

// The ways from memory and the disk to a value.

extension LMDBCache {
  // MARK: In memory

  @usableFromInline
  var keepsValuesInMemory: Bool { tier != nil }

  /// The value, if it is in memory and not due for a reload.
  @inlinable
  package func valueInMemory<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    try memoryValue(of: ObjectIdentifier(type), forKey: key).map {
      unsafe $0.value(V.self)
    }
  }

  /// The value in memory, if it has this exact type and no other process has replaced it.
  @usableFromInline
  func memoryValue(of type: ObjectIdentifier, forKey key: String) throws(CacheError) -> MemoryValue? {
    guard keepsValuesInMemory else { return nil }
    if _slowPath(SampledOperation.memoryHit.isDue) { return try timedMemoryValue(of: type, forKey: key) }
    return try memoryValue(of: type, forKey: key, hash: memory.hash(of: key), tick: memory.tick, isFetched: false)
  }

  @inline(never)
  private func timedMemoryValue(of type: ObjectIdentifier, forKey key: String) throws(CacheError) -> MemoryValue? {
    let start = SampledOperation.memoryHit.begin()
    let value = try memoryValue(of: type, forKey: key, hash: memory.hash(of: key), tick: memory.tick, isFetched: false)
    if value != nil { store.counters.latencies.memoryHits.record(since: start) }
    return value
  }

  @inline(__always)
  private func memoryValue(
    of type: ObjectIdentifier, forKey key: String, hash: UInt64, tick: UInt32, isFetched: Bool
  ) throws(CacheError) -> MemoryValue? {
    switch memory.look(up: key, hash: hash, as: type, in: store, tick: tick, isFetched: isFetched) {
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
      memory.noteNoHit()
      return nil
    case .touched(let stamp): return try revalidatedValue(as: type, key, hash, stamp: stamp)
    }
  }

  private func revalidatedValue(
    as type: ObjectIdentifier, _ key: String, _ hash: UInt64, stamp: UInt64
  ) throws(CacheError) -> MemoryValue? {
    memory.noteNoHit()
    try revalidate(key, stamp)
    switch memory.look(up: key, hash: hash, as: type, in: store) {
    case .hit(let value): return value
    case .miss, .closed: return nil
    case .otherType(let value):
      if case .current = value.look(as: type, store.journal.tagRemovals.words) { return value }
      memory.noteNoHit()
      return nil
    case .unvalidated:
      memory.noteNoHit()
      return nil
    }
  }

  /// Asks the disk, after another process has written, whether the entry in memory is still the newest.
  private func revalidate(_ key: String, _ stamp: UInt64) throws(CacheError) {
    try checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in
      // Taken before the disk is read, so that a later removal counts.
      let mark = memory.value(key, stamp: stamp)?.tagMark
      let removal = mark.map { store.journal.tagRemovals.words.latest(of: $0.tags) } ?? 0
      if let found = try store.header(key), found.header.stamp == stamp {
        memory.revalidate(key, stamp: stamp, validated: found.validated)
      } else {
        return memory.discard(key, stamp: stamp)
      }
      mark?.noteOutlived(removal)
    }
  }

  /// Calls `body` with the index and value of each key in memory; returns the other indices.
  @usableFromInline
  func memoryValues(
    of type: ObjectIdentifier, forKeys keys: [String], _ body: (Int, MemoryValue) -> Void
  ) throws(CacheError) -> [Int] {
    // Without keys, no look-up detects a closed cache.
    if keys.isEmpty { try checkOpen() }
    guard keepsValuesInMemory else { return Array(keys.indices) }
    var missing: [Int] = []
    var failure: CacheError?
    let tick = memory.tick
    memory.withHashes(of: keys) { index, hash in
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

  // MARK: On the disk

  /// Reads from the disk and keeps the value in memory, unless the key is written in the meantime.
  @inlinable
  func load<V: Codable>(_ type: V.Type, _ key: String) throws(CacheError) -> V? {
    guard keepsValuesInMemory else { return try diskValue(type, key) }
    // This part does not need the type.
    let found = try load(key, isData: type == Data.self) { (format, bytes) throws(CacheError) -> MemoryValue in
      TypedMemoryValue.make(try Self.decode(type, format, bytes, key), archiveLength: bytes.count)
    }
    return found.map { unsafe $0.value(V.self) }
  }

  /// Reads a value without a memory tier.
  @inlinable
  func diskValue<V: Codable>(_ type: V.Type, _ key: String) throws(CacheError) -> V? {
    if type == Data.self, let data = try data(key) { return unsafe unsafeBitCast(data, to: type) }
    var value: V?
    try visit(key) { (format, bytes) throws(CacheError) in value = try Self.decode(type, format, bytes, key) }
    return value
  }

  /// The value of an entry with `Data`, or `nil` if it is missing or has another type.
  @usableFromInline
  func data(_ key: String) throws(CacheError) -> Data? {
    try checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    return try CacheKey.with(key) { (key) throws(CacheError) -> Data? in
      guard let record = try reader.readData(key), record.header.format == .bytes else { return nil }
      return record.payload
    }
  }

  @usableFromInline
  func visit(_ key: String, _ body: (ArchiveFormat, ByteView) throws(CacheError) -> Void) throws(CacheError) {
    try checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    _ = try CacheKey.with(key) { (key) throws(CacheError) in
      try reader.read(key) { (record) throws(CacheError) in try body(record.header.format, record.payload) }
    }
  }

  /// Reads bytes if `isData`, which are copied only once; `decode` makes the value of any other record.
  @usableFromInline
  func load(
    _ key: String, isData: Bool, _ decode: (ArchiveFormat, ByteView) throws(CacheError) -> MemoryValue
  ) throws(CacheError) -> MemoryValue? {
    try checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    return try CacheKey.with(key) { (key) throws(CacheError) -> MemoryValue? in
      let token = tier?.token(key)
      if isData {
        guard let record = try reader.readData(key) else { return nil }
        let value: MemoryValue
        if record.header.format == .bytes {
          value = TypedMemoryValue(record.payload)
        } else {
          value = try record.payload.withBytes { (bytes) throws(CacheError) in try decode(record.header.format, bytes) }
        }
        tier?.keep(value, key, record, token: token)
        return value
      }
      return try reader.read(key) { (record) throws(CacheError) in
        let value = try decode(record.header.format, record.payload)
        tier?.keep(value, key, record, token: token)
        return value
      }
    }
  }

  /// Reads keys from the disk and keeps the values in memory, unless a key is written in the meantime.
  ///
  /// - Parameters:
  ///   - numbers: The indices of the keys to read.
  ///   - isData: Whether bytes are wanted; long ones are copied only once.
  ///   - receive: Receives the index of a key and its archive, or data if `isData` and the archive is bytes. Returns
  ///     what to keep.
  @usableFromInline
  func load(
    _ keys: [String], _ numbers: [Int], isData: Bool,
    _ receive: (Int, ArchiveFormat, ByteView, Data?) throws(CacheError) -> MemoryValue?
  ) throws(CacheError) {
    try checkOpen()
    let chosen = numbers.map { keys[$0] }
    let tokens = tier.map { tier in chosen.map { CacheKey.with($0) { tier.token($0) } } }
    try reader.read(chosen) { (place, record, owner) throws(CacheError) in
      let format = record.header.format
      let data = isData && format == .bytes ? owner ?? Data(record.payload) : nil
      let value = try receive(numbers[place], format, record.payload, data)
      if let value, let tier, let tokens {
        CacheKey.with(chosen[place]) { tier.keep(value, $0, record, token: tokens[place]) }
      }
    }
  }

  @usableFromInline
  static func decode<V: Codable>(
    _ type: V.Type, _ format: ArchiveFormat, _ bytes: ByteView, _ key: String
  ) throws(CacheError) -> V {
    try ValueArchiver.value(type, from: bytes, format: format, forKey: key)
  }

}
