import Foundation

// The one path of every write that depends on what is there, whether the cache has a memory tier or not.

extension DiskCache {
  // MARK: What is there

  /// See ``LMDBCache/entry(forKey:)``.
  public func entry(forKey key: String) throws(CacheError) -> CacheEntry? {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in try reader.entry(key) }
  }

  /// What a write has to expect that depends on what is read next; `nil` if the stamp of what is read says so.
  func condition(_ key: String) throws(CacheError) -> EntryCondition? {
    try checkOpen()
    return try CacheKey.with(key, store.condition)
  }

  /// When an entry expires; 0: never.
  func expires(_ key: String, _ memory: MemoryTier?) throws(CacheError) -> Int64 {
    try CacheKey.with(key) { (key) throws(CacheError) in try expires(key, memory) }
  }

  private func expires(_ key: CacheKey, _ memory: MemoryTier?) throws(CacheError) -> Int64 {
    // An earlier one may be when it is to be loaded anew.
    if memory?.expires(key) == .max { return 0 }
    if let header = try store.header(key)?.header { return header.expires }
    return try expiresAlone(key, memory)
  }

  /// When an entry expires that could not be recorded, which nothing but the memory tier knows; 0: never, or there is none.
  private func expiresAlone(_ key: CacheKey, _ memory: MemoryTier?) throws(CacheError) -> Int64 {
    guard let memory, try memory.valueAlone(key, in: store) != nil, let time = memory.expires(key), time != .max
    else { return 0 }
    return time
  }

  /// The header of the entry under `key`, or `nil` if there is none, or it has expired.
  ///
  /// - Throws: as ``isPresent(_:_:)``: nobody knows when such an entry expires.
  private func readableHeader(_ key: CacheKey) throws(CacheError) -> RecordHeader? {
    while true {
      if let header = try store.liveHeader(key) { return header }
      // Only one that was written in between is found, and is looked for again.
      if try reader.entry(key) == nil { return nil }
    }
  }

  /// Whether there is an entry, be it in memory only.
  ///
  /// - Throws: `.unsupportedRecord` and `.corruptedRecord` for one that cannot be read: it is no empty place.
  func isPresent(_ key: CacheKey, _ memory: MemoryTier?) throws(CacheError) -> Bool {
    if try reader.entry(key) != nil { return true }
    guard let memory else { return false }
    return try memory.valueAlone(key, in: store) != nil
  }

  // MARK: Writing under a condition

  /// Returns whether the condition held.
  func put<V: Codable>(
    _ value: V, _ key: String, expires: Int64, cost: Int?, tags: EntryTags?, through memory: MemoryTier?,
    if condition: EntryCondition
  ) throws(CacheError) -> Bool {
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      let memoryValue = memory == nil ? nil : TypedMemoryValue.make(value, archiveLength: bytes.count)
      return try put(
        memoryValue, format, bytes, key, expires: expires, cost: cost, tags: tags, through: memory, if: condition)
    }
  }

  private func put(
    _ value: MemoryValue?, _ format: ArchiveFormat, _ bytes: UnsafeRawBufferPointer, _ key: String, expires: Int64,
    cost: Int?, tags: EntryTags?, through memory: MemoryTier?, if condition: EntryCondition
  ) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in
      var header = try store.header(for: key, format, bytes, expires: expires, cost: cost)
      header.tags = tags?.hashes
      return try put(value, key, header, tags, bytes, through: memory, if: condition)
    }
  }

  private func put(
    _ value: MemoryValue?, _ key: CacheKey, _ header: RecordHeader, _ tags: EntryTags?,
    _ bytes: UnsafeRawBufferPointer, through memory: MemoryTier?, if condition: EntryCondition
  ) throws(CacheError) -> Bool {
    let outcome = try store.edit(key, .put(header, bytes, reader.transforms), if: condition, by: memory)
    if outcome.isRefused { return false }
    try didPut(value, key, header, tags, outcome, through: memory, tells: !condition.isOfTransaction)
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
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      let memoryValue = memory == nil ? nil : TypedMemoryValue.make(value, archiveLength: bytes.count)
      try CacheKey.with(key) { (key) throws(CacheError) in
        guard expires == .unchanged else {
          let time = try expires.nanoseconds(in: store, current: 0)
          var header = try store.header(for: key, format, bytes, expires: time, cost: cost)
          header.tags = tags?.hashes
          return try put(memoryValue, key, header, tags, bytes, through: memory)
        }
        while true {
          let condition = try store.condition(key)
          let current = try readableHeader(key)
          let time = if let current { current.expires } else { try expiresAlone(key, memory) }
          var header = try store.header(for: key, format, bytes, expires: time, cost: cost)
          header.tags = tags?.hashes
          let isDone = try put(
            memoryValue, key, header, tags, bytes, through: memory, if: condition ?? .stamp(current?.stamp ?? 0))
          if isDone { return }
        }
      }
    }
  }

  func setValueIfAbsent<V: Codable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int?, tags: EntryTags?, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    let time = try expires.nanoseconds(in: store, current: 0)
    return try ifAbsent(key, memory) { (condition) throws(CacheError) in
      try put(value, key, expires: time, cost: cost, tags: tags, through: memory, if: condition)
    }
  }

  func setObjectIfAbsent(
    _ object: any NSCoding, forKey key: String, expiresIn: Duration?, cost: Int?, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    if let value = object as? CacheValue {
      return try value.setIfAbsent(in: self, forKey: key, expiresIn: expiresIn, cost: cost, through: memory)
    }
    let time = expiresIn.map(store.expiry) ?? 0
    return try ObjectArchiver.withArchive(of: object, with: objectCoding) { (format, bytes) throws(CacheError) in
      let memoryValue = memory == nil ? nil : TypedMemoryValue(SharedObject(object: object))
      return try ifAbsent(key, memory) { (condition) throws(CacheError) in
        try put(memoryValue, format, bytes, key, expires: time, cost: cost, tags: nil, through: memory, if: condition)
      }
    }
  }

  /// - Parameter put: Writes if a condition holds, and says whether it did.
  private func ifAbsent(
    _ key: String, _ memory: MemoryTier?, _ put: (EntryCondition) throws(CacheError) -> Bool
  ) throws(CacheError) -> Bool {
    while true {
      guard let condition = try condition(key) else { return try put(.stamp(0)) }
      if try CacheKey.with(key, { (key) throws(CacheError) in try isPresent(key, memory) }) { return false }
      if try put(condition) { return true }
    }
  }

  func set<V: Codable>(
    _ value: V, forKey key: String, ifVersion version: EntryVersion, expires: Expiry, cost: Int?, tags: EntryTags?,
    through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    while true {
      let condition = try condition(key)
      guard let header = try CacheKey.with(key, store.header)?.header, header.stamp == version.stamp,
        !header.isExpired(at: store.clock.now)
      else { return false }
      let time = try expires.nanoseconds(in: store, current: header.expires)
      let expected = condition ?? .stamp(version.stamp)
      if try put(value, key, expires: time, cost: cost, tags: tags, through: memory, if: expected) { return true }
    }
  }

  func removeValue(
    forKey key: String, ifVersion version: EntryVersion, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in
      while true {
        let condition = try store.condition(key)
        if try store.stamp(key) != version.stamp { return false }
        if try remove(key, through: memory, if: condition ?? .stamp(version.stamp)) { return true }
      }
    }
  }

  /// - Parameter later: An entry that expires then or later, or never, stays as it is; nanoseconds since 1970.
  @discardableResult
  func touch(
    forKey key: String, expires: Expiry, unlessAt later: Int64? = nil, through memory: MemoryTier?
  ) throws(CacheError) -> Bool {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in
      while true {
        let condition = try store.condition(key)
        guard let header = try readableHeader(key) else {
          if let memory, try memory.valueAlone(key, in: store) != nil {
            throw CacheError(
              .notCommitted,
              "The entry \(quoted(key.string)) is in memory only, since it could not be recorded: its expiry cannot be "
                + "changed. Set it again when the cause is gone, which health says.")
          }
          return false
        }
        if let later, header.expires == 0 || header.expires >= later { return true }
        let time = try expires.nanoseconds(in: store, current: header.expires)
        if time == header.expires { return true }
        if try touch(key, header, expires: time, through: memory, if: condition) { return true }
      }
    }
  }

  /// A value that is long stays where it is. One that went through transforms goes through them again: encryption
  /// authenticates the expiry with it, and which transforms they were is only known where the value is.
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
    changed.tags = record.tags?.hashes
    // As the value is when it is transformed, and written, anew.
    changed.flags.subtract([.transformed, .pointer])
    return try record.payload.withBytes { (bytes) throws(CacheError) in
      try put(memoryValue, key, changed, record.tags, bytes, through: memory, if: condition ?? .stamp(header.stamp))
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
