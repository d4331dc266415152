import Foundation

// The one path of every conditional write, with or without a memory tier.

extension DiskCache {
  // MARK: Looking up

  /// See ``LMDBCache/entry(forKey:)``.
  public func entry(forKey key: String) throws(CacheError) -> CacheEntry? {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in try reader.entry(key) }
  }

  /// 0 for never.
  func expires(_ key: String, _ memory: MemoryTier?) throws(CacheError) -> Int64 {
    try CacheKey.with(key) { (key) throws(CacheError) in try expires(key, memory) }
  }

  private func expires(_ key: CacheKey, _ memory: MemoryTier?) throws(CacheError) -> Int64 {
    // An earlier one may be the time to reload it.
    if memory?.expires(key) == .max { return 0 }
    if let header = try store.header(key)?.header { return header.expires }
    return try expiresAlone(key, memory)
  }

  /// The expiry of an unrecorded entry, which only the memory tier knows; 0 for never or a missing entry.
  private func expiresAlone(_ key: CacheKey, _ memory: MemoryTier?) throws(CacheError) -> Int64 {
    guard let memory, try memory.valueAlone(key, in: store) != nil, let time = memory.expires(key), time != .max
    else { return 0 }
    return time
  }

  /// The header of the live entry under `key`. Throws as ``isPresent(_:_:)``: an unreadable entry's expiry is unknown.
  private func readableHeader(_ key: CacheKey) throws(CacheError) -> RecordHeader? {
    while true {
      if let header = try store.liveHeader(key) { return header }
      // Only an entry written in the meantime is found; look again.
      if try reader.entry(key) == nil { return nil }
    }
  }

  /// Whether an entry exists, on the disk or in memory.
  ///
  /// - Throws: `.unsupportedRecord` and `.corruptedRecord` for an unreadable entry, which must not be overwritten.
  func isPresent(_ key: CacheKey, _ memory: MemoryTier?) throws(CacheError) -> Bool {
    if try reader.entry(key) != nil { return true }
    guard let memory else { return false }
    return try memory.valueAlone(key, in: store) != nil
  }

  // MARK: Writing under a condition

  /// Makes a conditional write: calls `attempt` until it returns `true`.
  ///
  /// - Parameter attempt: Takes the condition of the write, or `nil` if that is the stamp of the entry that it reads.
  /// - Throws: `.recursiveUpdate` in the closure of such a write of the same key.
  func attempting(
    _ key: CacheKey, _ attempt: (ConditionalWrite, EntryCondition?) throws(CacheError) -> Bool
  ) throws(CacheError) {
    try checkOpen()
    let write = try store.begin(key)
    defer { store.end(write) }
    while true {
      if try attempt(write, store.condition(write)) { return }
      try store.noteConflict(of: write)
    }
  }

  /// A value that is archived once for all attempts.
  struct NewEntry {
    let value: MemoryValue?
    let key: CacheKey
    /// The expiry left open.
    let header: RecordHeader
    let draft: ValueDraft
  }

  func withNewEntry<V: Codable, R>(
    _ value: V, _ key: String, cost: Int?, through memory: MemoryTier?,
    _ body: (NewEntry) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      let memoryValue = memory == nil ? nil : TypedMemoryValue.make(value, archiveLength: bytes.count)
      return try CacheKey.with(key) { (key) throws(CacheError) in
        try body(newEntry(memoryValue, key, format, bytes, cost: cost))
      }
    }
  }

  func withNewEntry<R>(
    object: any NSCoding, _ key: String, cost: Int?, through memory: MemoryTier?,
    _ body: (NewEntry) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try ObjectArchiver.withArchive(of: object, with: objectCoding) { (format, bytes) throws(CacheError) in
      let memoryValue = memory == nil ? nil : TypedMemoryValue(SharedObject(object: object))
      return try CacheKey.with(key) { (key) throws(CacheError) in
        try body(newEntry(memoryValue, key, format, bytes, cost: cost))
      }
    }
  }

  private func newEntry(
    _ value: MemoryValue?, _ key: CacheKey, _ format: ArchiveFormat, _ bytes: UnsafeRawBufferPointer, cost: Int?
  ) throws(CacheError) -> NewEntry {
    NewEntry(
      value: value, key: key, header: try store.header(for: key, format, bytes, expires: 0, cost: cost),
      draft: ValueDraft(bytes, reader.transforms))
  }

  func put(
    _ new: NewEntry, expires: Int64, tags: EntryTags?, through memory: MemoryTier?, if condition: EntryCondition
  ) throws(CacheError) -> Bool {
    var header = new.header
    header.expires = expires
    header.tags = tags?.hashes
    let outcome = try store.edit(new.key, .put(header, new.draft), if: condition, by: memory)
    if outcome.isRefused { return false }
    try didPut(
      new.value, new.key, header, tags, outcome, through: memory, tells: !condition.isOfTransaction)
    return true
  }

  func remove(
    _ key: CacheKey, through memory: MemoryTier?, if condition: EntryCondition
  ) throws(CacheError) -> Bool {
    let outcome = try store.edit(key, .remove, if: condition, by: memory)
    if outcome.isRefused { return false }
    try didChange(key, outcome, through: memory, tells: !condition.isOfTransaction)
    return true
  }

  // MARK: The operations

  func set<V: Codable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int?, tags: EntryTags?, through memory: MemoryTier?
  ) throws(CacheError) {
    try checkOpen()
    guard expires == .unchanged else {
      let time = try expires.nanoseconds(in: store, current: 0)
      return try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
        let memoryValue = memory == nil ? nil : TypedMemoryValue.make(value, archiveLength: bytes.count)
        try CacheKey.with(key) { (key) throws(CacheError) in
          var header = try store.header(for: key, format, bytes, expires: time, cost: cost)
          header.tags = tags?.hashes
          try put(memoryValue, key, header, tags, bytes, through: memory)
        }
      }
    }
    try withNewEntry(value, key, cost: cost, through: memory) { (new) throws(CacheError) in
      try attempting(new.key) { (_, condition) throws(CacheError) in
        let current = try readableHeader(new.key)
        let time = if let current { current.expires } else { try expiresAlone(new.key, memory) }
        return try put(
          new, expires: time, tags: tags, through: memory, if: condition ?? .stamp(current?.stamp ?? 0))
      }
    }
  }

  func setValueIfAbsent<V: Codable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int?, tags: EntryTags?, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    let time = try expires.nanoseconds(in: store, current: 0)
    if try isTaken(key, memory) { return false }
    return try withNewEntry(value, key, cost: cost, through: memory) { (new) throws(CacheError) in
      try putIfAbsent(new, expires: time, tags: tags, through: memory)
    }
  }

  func setObjectIfAbsent(
    _ object: any NSCoding, forKey key: String, expiresIn: Duration?, cost: Int?, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    if let value = object as? CacheValue {
      return try value.setIfAbsent(in: self, forKey: key, expiresIn: expiresIn, cost: cost, through: memory)
    }
    let time = expiresIn.map(store.expiry) ?? 0
    if try isTaken(key, memory) { return false }
    return try withNewEntry(object: object, key, cost: cost, through: memory) { (new) throws(CacheError) in
      try putIfAbsent(new, expires: time, tags: nil, through: memory)
    }
  }

  /// Whether the key is taken, checked before archiving.
  private func isTaken(_ key: String, _ memory: MemoryTier?) throws(CacheError) -> Bool {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in
      try store.admit(.key(key.utf8))
      return try isPresent(key, memory)
    }
  }

  private func putIfAbsent(
    _ new: NewEntry, expires: Int64, tags: EntryTags?, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    var isStored = false
    try attempting(new.key) { (write, condition) throws(CacheError) in
      if try isPresent(new.key, memory) { return true }
      write.tags = .some(nil)
      isStored = try put(new, expires: expires, tags: tags, through: memory, if: condition ?? .stamp(0))
      return isStored
    }
    return isStored
  }

  func set<V: Codable>(
    _ value: V, forKey key: String, ifVersion version: EntryVersion, expires: Expiry, cost: Int?, tags: EntryTags?,
    through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    try checkOpen()
    return try withNewEntry(value, key, cost: cost, through: memory) { (new) throws(CacheError) in
      var isStored = false
      try attempting(new.key) { (_, condition) throws(CacheError) in
        guard let header = try store.liveHeader(new.key), header.stamp == version.stamp else { return true }
        let time = try expires.nanoseconds(in: store, current: header.expires)
        isStored = try put(
          new, expires: time, tags: tags, through: memory, if: condition ?? .stamp(version.stamp))
        return isStored
      }
      return isStored
    }
  }

  func removeValue(
    forKey key: String, ifVersion version: EntryVersion, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in
      var isRemoved = false
      try attempting(key) { (_, condition) throws(CacheError) in
        if try store.stamp(key) != version.stamp { return true }
        isRemoved = try remove(key, through: memory, if: condition ?? .stamp(version.stamp))
        return isRemoved
      }
      return isRemoved
    }
  }

  /// Skips an entry that expires at `later`, in nanoseconds since 1970, or after it.
  @discardableResult
  func touch(
    forKey key: String, expires: Expiry, unlessAt later: Int64? = nil, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in
      var isThere = true
      try attempting(key) { (_, condition) throws(CacheError) in
        guard let header = try readableHeader(key) else {
          if let memory, try memory.valueAlone(key, in: store) != nil {
            throw CacheError(
              .notCommitted,
              "The entry \(quoted(key.string)) is in memory only, since it could not be recorded: its expiry cannot be "
                + "changed. Set it again when the cause is gone, which health says.")
          }
          isThere = false
          return true
        }
        if let later, header.expires == 0 || header.expires >= later { return true }
        let time = try expires.nanoseconds(in: store, current: header.expires)
        if time == header.expires { return true }
        return try touch(key, header, expires: time, through: memory, if: condition)
      }
      return isThere
    }
  }

  /// A long value stays in place. A transformed one is transformed again, since encryption authenticates the expiry,
  /// and its transforms are only known where the value is.
  private func touch(
    _ key: CacheKey, _ header: RecordHeader, expires: Int64, through memory: MemoryTier?,
    if condition: EntryCondition?
  ) throws(CacheError) -> Bool {
    let memoryValue = memory?.value(key, stamp: header.stamp)
    let isRewritten = header.flags.contains(.transformed) || condition != nil && !header.flags.contains(.pointer)
    guard isRewritten else {
      let outcome = try store.edit(key, .touch(expires: expires), if: .stamp(header.stamp), by: memory)
      return !outcome.isRefused
    }
    guard let record = try reader.readData(key), record.header.stamp == header.stamp else { return false }
    var changed = header
    changed.move(toExpiry: expires)
    // The value is transformed and written again.
    changed.flags.subtract([.transformed, .pointer])
    return try record.payload.withBytes { (bytes) throws(CacheError) in
      try put(
        NewEntry(value: memoryValue, key: key, header: changed, draft: ValueDraft(bytes, reader.transforms)),
        expires: expires, tags: record.tags, through: memory, if: condition ?? .stamp(header.stamp))
    }
  }

  // MARK: The disk tier alone

  /// See ``LMDBCache/set(_:forKey:expires:cost:)``.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int? = nil
  ) throws(CacheError) {
    try set(value, forKey: key, expires: expires, cost: cost, tags: nil, through: nil)
  }

  /// See ``LMDBCache/setValueIfAbsent(_:forKey:expires:cost:tags:)``.
  @discardableResult
  public func setValueIfAbsent<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = []
  ) throws(CacheError) -> Bool {
    try setValueIfAbsent(
      value, forKey: key, expires: expires, cost: cost, tags: EntryTags.make(tags), through: nil)
  }

  /// See ``LMDBCache/set(_:forKey:ifVersion:expires:cost:tags:)``.
  @discardableResult
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, ifVersion version: EntryVersion, expires: Expiry = .never, cost: Int? = nil,
    tags: [String] = []
  ) throws(CacheError) -> Bool {
    try set(
      value, forKey: key, ifVersion: version, expires: expires, cost: cost, tags: EntryTags.make(tags), through: nil)
  }

  /// See ``LMDBCache/removeValue(forKey:ifVersion:)``.
  @discardableResult
  public func removeValue(forKey key: String, ifVersion version: EntryVersion) throws(CacheError) -> Bool {
    try removeValue(forKey: key, ifVersion: version, through: nil)
  }

  /// See ``LMDBCache/touch(forKey:expires:)``.
  @discardableResult
  public func touch(forKey key: String, expires: Expiry) throws(CacheError) -> Bool {
    try touch(forKey: key, expires: expires, through: nil)
  }
}

// The closure may be slow, and the write may wait for a commit, so both run on a background queue. The other atomic
// operations take microseconds and have no async form.

extension DiskCache {
  /// See ``LMDBCache/update(_:forKey:expires:cost:_:)``.
  @discardableResult
  public nonisolated(nonsending) func update<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expires: Expiry = .unchanged, cost: Int? = nil,
    _ change: @escaping @Sendable (inout V?) throws -> Void
  ) async throws -> V? {
    try await background.perform(.aside) { [self] in
      try update(type, forKey: key, expires: expires, cost: cost, change)
    }
  }
}
