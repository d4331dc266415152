import Dispatch
public import Foundation
import Platform

// YYCache's functions for objects that conform to NSCoding. Unlike YYCache's they throw errors.

extension LMDBCache {
  /// Returns whether an object exists under `key`. Not an access. `false`, and a message in the log, if the cache cannot be
  /// read; ``contains(_:)`` throws then.
  public func containsObject(forKey key: String) -> Bool {
    answer(false) { () throws(CacheError) in try contains(key) }
  }

  /// Returns the object under `key`, or `nil` if it is missing or has expired.
  ///
  /// The memory tier returns the stored instance. An object from the disk is a new instance, which is kept in memory.
  /// Standard values stored with ``set(_:forKey:expires:cost:tags:)`` are returned as Foundation's objects.
  public func object(forKey key: String) throws(CacheError) -> (any NSCoding)? {
    if let found = try memoryValue(of: ObjectIdentifier(SharedObject.self), forKey: key) {
      return unsafe found.value(SharedObject.self).object
    }
    try checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    return try CacheKey.with(key) { (key) throws(CacheError) in
      let token = tier?.token(key)
      guard let record = try reader.readData(key) else { return nil }
      let object = try ObjectArchiver.object(
        from: record.payload, format: record.header.format, with: objectCoding, forKey: key.string)
      tier?.keep(TypedMemoryValue(SharedObject(object: object)), key, record, token: token)
      return object
    }
  }

  /// Stores an object under `key`, or removes the entry if it is `nil`.
  ///
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = []
  ) throws(CacheError) {
    guard let object else { return try removeValue(forKey: key) }
    if let value = object as? CacheValue {
      return try value.set(in: self, forKey: key, expires: expires, cost: cost, tags: tags)
    }
    let tags = try EntryTags.make(tags)
    if case .unchanged = expires.kind {
      _ = try withNewEntry(object: object, key, cost: cost) { (new) throws(CacheError) in
        try replace(with: new, tags)
        return true
      }
      return
    }
    let start = SampledOperation.write.start()
    let time = try expires.nanoseconds(in: store, current: 0)
    try ObjectArchiver.withArchive(of: object, with: objectCoding) { (format, bytes) throws(CacheError) in
      let memoryValue = tier == nil ? nil : TypedMemoryValue(SharedObject(object: object))
      try put(memoryValue, format, bytes, forKey: key, expires: time, cost: cost, tags: tags)
    }
    store.counters.latencies.writes.record(since: start)
  }

  /// Stores an object under `key` if `condition` holds, and returns whether it did.
  @discardableResult
  public func setObject(
    _ object: any NSCoding, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = [],
    if condition: WriteCondition
  ) throws(CacheError) -> Bool {
    let tags = try EntryTags.make(tags)
    if try isTaken(key, condition) { return false }
    return try withNewEntry(object: object, key, cost: cost) { (new) throws(CacheError) in
      try put(new, expires: expires, tags: tags, if: condition)
    }
  }

  /// Removes the object under `key`, if it exists.
  public func removeObject(forKey key: String) throws(CacheError) { try removeValue(forKey: key) }

  /// Removes every object.
  public func removeAllObjects() throws(CacheError) { try removeAll() }
}

// Their background forms.
//
// Writes run in the order of the calls, and reads see the writes of earlier calls. Direct calls do not wait for them.

extension LMDBCache {
  // MARK: With a completion, which is called on a background queue

  /// Calls `completion` with the key and whether there is an object under it.
  public func containsObject(forKey key: String, completion: @escaping @Sendable (String, Bool) -> Void) {
    background.run(.read) { [self] in
      containsObject(forKey: key)
    } completion: {
      completion(key, $0)
    }
  }

  /// Calls `completion` with the key and the object under it, or the error.
  public func object(
    forKey key: String, completion: @escaping @Sendable (String, Result<(any NSCoding)?, CacheError>) -> Void
  ) {
    background.run(.read) { [self] in
      sharedObject(forKey: key)
    } completion: {
      completion(key, $0.map { $0?.object })
    }
  }

  /// Stores the object in the background, then calls `completion` with the error, if any.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expires: Expiry = .never, cost: Int? = nil,
    completion: @escaping @Sendable (CacheError?) -> Void
  ) {
    let shared = object.map { SharedObject(object: $0) }
    background.report(
      .write,
      { [self] () throws(CacheError) in try setObject(shared?.object, forKey: key, expires: expires, cost: cost) },
      completion: completion)
  }

  /// Removes the object in the background, then calls `completion` with the key and the error, if any.
  public func removeObject(forKey key: String, completion: @escaping @Sendable (String, CacheError?) -> Void) {
    background.report(.write, { [self] () throws(CacheError) in try removeObject(forKey: key) }) { completion(key, $0) }
  }

  /// Removes every object in the background, then calls `completion` with the error, if any.
  public func removeAllObjects(completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.write, { [self] () throws(CacheError) in try removeAllObjects() }, completion: completion)
  }

  /// Removes every object in the background.
  ///
  /// - Parameters:
  ///   - progress: Called at the start and the end with the numbers of removed and of all entries; the database drops
  ///     all at once.
  ///   - completion: Called last, with the error, if any.
  public func removeAllObjects(
    progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)?, completion: (@Sendable (CacheError?) -> Void)?
  ) {
    // One thread keeps the reports in order, and delays no other work.
    let reports = DispatchQueue(label: "LMDB reports")
    background.report(
      .write,
      { [self] () throws(CacheError) in
        let total = try count
        if let progress { reports.async { progress(0, total) } }
        try removeAllObjects()
        try commitPending()
        if let progress { reports.async { progress(total, total) } }
      }
    ) { error in
      if let completion { reports.async { completion(error) } }
    }
  }

  private func sharedObject(forKey key: String) -> Result<SharedObject?, CacheError> {
    outcome { () throws(CacheError) in try object(forKey: key).map { SharedObject(object: $0) } }
  }
}
