public import Foundation

// YYCache's surface, for objects that conform to NSCoding. What differs: errors are thrown.

extension LMDBCache {
  /// Whether there is an object under `key`, in memory or on the disk. Does not count as an access.
  public func containsObject(forKey key: String) -> Bool { contains(key) }

  /// The object under `key`; nil: there is none, or it has expired.
  ///
  /// The memory tier hands out the instance that was stored; one from the disk is a new one, kept in memory.
  /// Standard values that were stored with ``set(_:forKey:expiresIn:cost:)`` are given as Foundation's objects.
  ///
  /// - Throws: as ``value(_:forKey:)``.
  public func object(forKey key: String) throws(CacheError) -> (any NSCoding)? {
    if let found = try memoryValue(of: ObjectIdentifier(SharedObject.self), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<SharedObject>.self).value.object
    }
    try diskCache.checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in
      let token = memoryCache.token(key)
      guard let record = try store.readData(key) else {
        return store.isMemoryOnly(key) ? (memoryCache.anyValue(key) as? SharedObject)?.object : nil
      }
      let object = try ObjectArchiver.object(
        from: record.payload, format: record.header.format, with: diskCache.objectCoding, forKey: key.string)
      memoryCache.keep(
        TypedMemoryValue(SharedObject(object: object)), key, record.header, validated: record.validated, token: token)
      return object
    }
  }

  /// Stores an object under `key`; nil removes what is there.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    guard let object else { return try removeValue(forKey: key) }
    if let value = object as? CacheValue {
      return try value.set(in: self, forKey: key, expiresIn: expiresIn, cost: cost)
    }
    try ObjectArchiver.withArchive(of: object, with: diskCache.objectCoding) { (format, bytes) throws(CacheError) in
      try put(
        TypedMemoryValue(SharedObject(object: object)), format, bytes, forKey: key, expiresIn: expiresIn, cost: cost)
    }
  }

  /// Removes the object under `key`, if there is one.
  public func removeObject(forKey key: String) throws(CacheError) { try removeValue(forKey: key) }

  /// Removes every object.
  public func removeAllObjects() throws(CacheError) { try removeAll() }

  // MARK: With a completion, which is called on a background queue

  /// Calls `completion` with the key and whether there is an object under it.
  public func containsObject(forKey key: String, completion: @escaping @Sendable (String, Bool) -> Void) {
    BackgroundQueue.run { [self] in completion(key, containsObject(forKey: key)) }
  }

  /// Calls `completion` with the key and the object under it, or the error.
  public func object(
    forKey key: String, completion: @escaping @Sendable (String, Result<(any NSCoding)?, CacheError>) -> Void
  ) {
    BackgroundQueue.run { [self] in completion(key, outcome { () throws(CacheError) in try object(forKey: key) }) }
  }

  /// Stores the object in the background and calls `completion` with the error, if there was one.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    completion: @escaping @Sendable (CacheError?) -> Void
  ) {
    let shared = object.map { SharedObject(object: $0) }
    BackgroundQueue.report(completion) { [self] () throws(CacheError) in
      try setObject(shared?.object, forKey: key, expiresIn: expiresIn, cost: cost)
    }
  }

  /// Removes the object in the background and calls `completion` with the key and the error, if there was one.
  public func removeObject(forKey key: String, completion: @escaping @Sendable (String, CacheError?) -> Void) {
    BackgroundQueue.report({ completion(key, $0) }) { [self] () throws(CacheError) in try removeObject(forKey: key) }
  }

  /// Removes every object in the background and calls `completion` with the error, if there was one.
  public func removeAllObjects(completion: @escaping @Sendable (CacheError?) -> Void) {
    BackgroundQueue.report(completion) { [self] () throws(CacheError) in try removeAllObjects() }
  }

  /// Removes every object in the background.
  ///
  /// - Parameters:
  ///   - progress: Called with the number of entries removed and the number there were. The database drops them all
  ///     at once, so it is called at the start and at the end.
  ///   - completion: Called with the error, if there was one.
  public func removeAllObjects(
    progress: (@Sendable (_ removed: Int, _ total: Int) -> Void)?,
    completion: (@Sendable (CacheError?) -> Void)?
  ) {
    BackgroundQueue.report({ completion?($0) }) { [self] () throws(CacheError) in
      let total = count
      progress?(0, total)
      try removeAllObjects()
      try diskCache.commitPending()
      progress?(total, total)
    }
  }

  // MARK: For tasks. The work is done on a background queue, not on the caller's executor.

  /// See ``containsObject(forKey:)``.
  public nonisolated(nonsending) func containsObject(forKey key: String) async -> Bool {
    await BackgroundQueue.perform { [self] in contains(key) }
  }

  /// See ``object(forKey:)``.
  public nonisolated(nonsending) func object(forKey key: String) async throws -> (any NSCoding)? {
    try await BackgroundQueue.perform { [self] in
      outcome { () throws(CacheError) in try object(forKey: key).map { SharedObject(object: $0) } }
    }.get()?.object
  }

  /// See ``setObject(_:forKey:expiresIn:cost:)``.
  public nonisolated(nonsending) func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) async throws {
    let shared = object.map { SharedObject(object: $0) }
    try await BackgroundQueue.perform { [self] in
      outcome { () throws(CacheError) in
        try setObject(shared?.object, forKey: key, expiresIn: expiresIn, cost: cost)
      }
    }.get()
  }

  /// See ``removeObject(forKey:)``.
  public nonisolated(nonsending) func removeObject(forKey key: String) async throws {
    try await BackgroundQueue.perform { [self] in
      outcome { () throws(CacheError) in try removeObject(forKey: key) }
    }.get()
  }

  /// See ``removeAllObjects()``.
  public nonisolated(nonsending) func removeAllObjects() async throws {
    try await BackgroundQueue.perform { [self] in outcome { () throws(CacheError) in try removeAllObjects() } }.get()
  }
}
