import Dispatch
public import Foundation
import Platform

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

// The functions of YYDiskCache, with errors. Entries are shared with `LMDBCache`.

extension DiskCache {
  /// See ``LMDBCache/containsObject(forKey:)``.
  public func containsObject(forKey key: String) -> Bool { contains(key) }

  /// See ``LMDBCache/object(forKey:)``; every call makes a new object.
  public func object(forKey key: String) throws(CacheError) -> (any NSCoding)? {
    try checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    return try CacheKey.with(key) { (key) throws(CacheError) in
      guard let record = try reader.readData(key) else { return nil }
      return try ObjectArchiver.object(
        from: record.payload, format: record.header.format, with: objectCoding, forKey: key.string)
    }
  }

  /// See ``LMDBCache/setObjectIfAbsent(_:forKey:expiresIn:cost:)``.
  @discardableResult
  public func setObjectIfAbsent(
    _ object: any NSCoding, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) -> Bool {
    try setObjectIfAbsent(object, forKey: key, expiresIn: expiresIn, cost: cost, through: nil)
  }

  /// Removes the object under `key`, if it exists.
  public func removeObject(forKey key: String) throws(CacheError) { try removeValue(forKey: key) }

  /// Removes every object.
  public func removeAllObjects() throws(CacheError) { try removeAll() }

  /// Number of entries: ``count``.
  public var totalCount: Int { count }

  // MARK: With a completion, which is called on a background queue

  /// Calls `completion` with the number of entries, or the error.
  public func totalCount(completion: @escaping @Sendable (Result<Int, CacheError>) -> Void) {
    background.run(
      .aside, { [self] in outcome { () throws(CacheError) in try entryCount() } }, completion: completion)
  }

  /// Calls `completion` with the sum of the entries' costs, or the error.
  public func totalCost(completion: @escaping @Sendable (Result<Int, CacheError>) -> Void) {
    background.run(
      .aside, { [self] in outcome { () throws(CacheError) in try totalEntryCost() } }, completion: completion)
  }

  /// Calls `completion` with the key and whether there is an object under it.
  public func containsObject(forKey key: String, completion: @escaping @Sendable (String, Bool) -> Void) {
    background.run(.read, { [self] in containsObject(forKey: key) }, completion: { completion(key, $0) })
  }

  /// Calls `completion` with the key and the object under it, or the error.
  public func object(
    forKey key: String, completion: @escaping @Sendable (String, Result<(any NSCoding)?, CacheError>) -> Void
  ) {
    background.run(
      .read, { [self] in sharedObject(forKey: key) }, completion: { completion(key, $0.map { $0?.object }) })
  }

  /// Stores the object, or removes the entry if it is `nil`, then calls `completion` with the error, if any.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    completion: @escaping @Sendable (CacheError?) -> Void
  ) {
    let shared = object.map { SharedObject(object: $0) }
    background.report(
      .write,
      { [self] () throws(CacheError) in try setObject(shared?.object, forKey: key, expiresIn: expiresIn, cost: cost) },
      completion: completion)
  }

  /// Removes the object, then calls `completion` with the key and the error, if any.
  public func removeObject(forKey key: String, completion: @escaping @Sendable (String, CacheError?) -> Void) {
    background.report(.write, { [self] () throws(CacheError) in try removeObject(forKey: key) }) { completion(key, $0) }
  }

  /// Removes every object, then calls `completion` with the error, if any.
  public func removeAllObjects(completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.write, { [self] () throws(CacheError) in try removeAllObjects() }, completion: completion)
  }

  /// Removes every object.
  ///
  /// - Parameters:
  ///   - progress: Called at the start and the end with the numbers of removed and of all entries; the database drops
  ///     all at once.
  ///   - completion: Called last, with the error, if any.
  public func removeAllObjects(
    progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)?, completion: (@Sendable (CacheError?) -> Void)?
  ) {
    removeAllObjects(progress: progress, completion: completion) { [self] () throws(CacheError) in
      try removeAllObjects()
    }
  }

  func removeAllObjects(
    progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)?, completion: (@Sendable (CacheError?) -> Void)?,
    _ remove: @escaping @Sendable () throws(CacheError) -> Void
  ) {
    // One thread keeps the reports in order, and delays no other work.
    let reports = DispatchQueue(label: "LMDB reports")
    background.report(
      .write,
      { [self] () throws(CacheError) in
        let total = try entryCount()
        if let progress { reports.async { progress(0, total) } }
        try remove()
        try commitPending()
        if let progress { reports.async { progress(total, total) } }
      }
    ) { error in
      if let completion { reports.async { completion(error) } }
    }
  }

  // MARK: For tasks. The work is done on a background queue, not on the caller's executor.

  /// See ``removeAllObjects()``.
  public nonisolated(nonsending) func removeAllObjects() async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAllObjects() }
  }

  private func sharedObject(forKey key: String) -> Result<SharedObject?, CacheError> {
    outcome { () throws(CacheError) in try object(forKey: key).map { SharedObject(object: $0) } }
  }
}
