public import Foundation
import Platform

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
    let reports = ThreadPool(name: "LMDB reports", idleTime: 0)
    background.report(
      .write,
      { [self] () throws(CacheError) in
        let total = try entryCount()
        if let progress { reports.run { progress(0, total) } }
        try remove()
        try commitPending()
        if let progress { reports.run { progress(total, total) } }
      }
    ) { error in
      if let completion { reports.run { completion(error) } }
      // Runs here what no thread could be started for.
      reports.drain()
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
