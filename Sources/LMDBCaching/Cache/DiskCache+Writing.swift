public import Foundation

// The one path of every single write, with or without a memory tier.

extension DiskCache {
  // MARK: The disk tier alone

  /// See ``LMDBCache/set(_:forKey:expiresIn:cost:)``. Throws also when the disk is full or fails.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try set(value, forKey: key, expiresIn: expiresIn, cost: cost, through: nil)
  }

  /// See ``LMDBCache/setObject(_:forKey:expiresIn:cost:)``. Throws also when the disk is full or fails.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try setObject(object, forKey: key, expiresIn: expiresIn, cost: cost, through: nil)
  }

  /// See ``LMDBCache/removeValue(forKey:)``.
  public func removeValue(forKey key: String) throws(CacheError) { try removeValue(forKey: key, through: nil) }

  /// See ``LMDBCache/removeAll()``.
  public func removeAll() throws(CacheError) { try removeAll(withPrefix: nil, through: nil) }

  /// See ``LMDBCache/removeAll(withPrefix:)``.
  public func removeAll(withPrefix prefix: String) throws(CacheError) {
    try removeAll(withPrefix: prefix, through: nil)
  }

  // MARK: With a memory tier or without

  /// Writes the value only if `condition`, if given, holds at the moment of the write.
  func set<V: Codable>(
    _ value: V, forKey key: String, expiresIn: Duration?, cost: Int?, tags: EntryTags? = nil,
    through memory: MemoryTier?, if condition: (() -> Bool)? = nil
  ) throws(CacheError) {
    let start = SampledOperation.write.start()
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      let memoryValue = memory == nil ? nil : TypedMemoryValue.make(value, archiveLength: bytes.count)
      try put(
        memoryValue, format, bytes, forKey: key, expiresIn: expiresIn, cost: cost, tags: tags, through: memory,
        if: condition)
    }
    store.counters.latencies.writes.record(since: start)
  }

  func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration?, cost: Int?, tags: EntryTags? = nil,
    through memory: MemoryTier?
  ) throws(CacheError) {
    guard let object else { return try removeValue(forKey: key, through: memory) }
    if let value = object as? CacheValue {
      return try value.set(in: self, forKey: key, expiresIn: expiresIn, cost: cost, tags: tags, through: memory)
    }
    let start = SampledOperation.write.start()
    try ObjectArchiver.withArchive(of: object, with: objectCoding) { (format, bytes) throws(CacheError) in
      let memoryValue = memory == nil ? nil : TypedMemoryValue(SharedObject(object: object))
      try put(memoryValue, format, bytes, forKey: key, expiresIn: expiresIn, cost: cost, tags: tags, through: memory)
    }
    store.counters.latencies.writes.record(since: start)
  }

  func put(
    _ value: MemoryValue?, _ format: ArchiveFormat, _ bytes: UnsafeRawBufferPointer, forKey key: String,
    expiresIn: Duration?, cost: Int?, tags: EntryTags?, through memory: MemoryTier?, if condition: (() -> Bool)? = nil
  ) throws(CacheError) {
    try checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in
      var header = try store.header(for: key, format, bytes, expiresIn: expiresIn, cost: cost)
      header.tags = tags?.hashes
      try put(value, key, header, tags, bytes, through: memory, if: condition)
    }
  }

  @inline(__always)
  func put(
    _ value: MemoryValue?, _ key: CacheKey, _ header: RecordHeader, _ tags: EntryTags?,
    _ bytes: UnsafeRawBufferPointer, through memory: MemoryTier?, if condition: (() -> Bool)? = nil
  ) throws(CacheError) {
    let outcome = try store.put(
      key, header: header, payload: bytes, through: reader.transforms, by: memory, if: condition)
    if outcome.isRefused { return }
    try didPut(value, key, header, tags, outcome, through: memory)
  }

  /// Notifies the observers if `tells`; the store does so for transactions.
  @inline(__always)
  func didPut(
    _ value: MemoryValue?, _ key: CacheKey, _ header: RecordHeader, _ tags: EntryTags?, _ outcome: WriteOutcome,
    through memory: MemoryTier?, tells: Bool = true
  ) throws(CacheError) {
    if tags != nil { store.journal.tagRemovals.noteUse() }
    guard let value, let memory else { return try didChange(key, outcome, through: memory, tells: tells) }
    if outcome.isRecorded {
      memory.insert(value, key, header, tags, outcome)
    } else {
      let isNewest = store.observers.beginPlacing(outcome.stamp)
      memory.insert(value, key, header, tags, outcome, isNewest: isNewest, onPlaced: store.observers.endPlacing)
      store.didChange(key, outcome.stamp, by: memory)
    }
    if tells { store.noteChange(key, outcome.stamp) }
    try outcome.checkCommitted()
  }

  /// Called after a removal, or a write that bypasses the memory tier.
  func didChange(
    _ key: CacheKey, _ outcome: WriteOutcome, through memory: MemoryTier?, tells: Bool = true
  ) throws(CacheError) {
    if let memory {
      if outcome.isRecorded {
        memory.remove(key, stamp: outcome.stamp)
      } else {
        _ = store.observers.beginPlacing(outcome.stamp)
        memory.remove(key, stamp: outcome.stamp, onPlaced: store.observers.endPlacing)
        store.didChange(key, outcome.stamp, by: memory)
      }
      if tells { store.noteChange(key, outcome.stamp) }
    }
    try outcome.checkCommitted()
  }

  func removeValue(forKey key: String, through memory: MemoryTier?) throws(CacheError) {
    try checkOpen()
    try CacheKey.with(key) { (key) throws(CacheError) in
      try didChange(key, store.remove(key, by: memory), through: memory)
    }
  }

  func removeAll(withPrefix prefix: String?, through memory: MemoryTier?) throws(CacheError) {
    try checkOpen()
    try store.removeAll(withPrefix: prefix, by: memory).checkCommitted()
  }
}
