public import Foundation

// YYCache's functions for objects that conform to NSCoding. Unlike YYCache's they throw errors.

extension LMDBCache {
  /// Returns whether an object exists under `key`. Does not count as an access. Returns `false` if that cannot be
  /// determined; ``containsValue(forKey:)`` throws then.
  public func containsObject(forKey key: String) -> Bool { contains(key) }

  /// Returns the object under `key`, or `nil` if it is missing or has expired.
  ///
  /// The memory tier returns the stored instance. An object from the disk is a new instance, which is kept in memory.
  /// Standard values stored with ``set(_:forKey:expiresIn:cost:)`` are returned as Foundation's objects.
  public func object(forKey key: String) throws(CacheError) -> (any NSCoding)? {
    if let found = try memoryValue(of: ObjectIdentifier(SharedObject.self), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<SharedObject>.self).value.object
    }
    try diskCache.checkOpen()
    let start = SampledOperation.diskRead.start()
    defer { store.counters.latencies.diskReads.record(since: start) }
    return try CacheKey.with(key) { (key) throws(CacheError) in
      let token = memoryCache.token(key)
      guard let record = try diskCache.reader.readData(key) else {
        return (try memoryCache.valueAlone(key, in: store)?.any as? SharedObject)?.object
      }
      let object = try ObjectArchiver.object(
        from: record.payload, format: record.header.format, with: diskCache.objectCoding, forKey: key.string)
      memoryCache.keep(
        TypedMemoryValue(SharedObject(object: object)), key, record, token: token)
      return object
    }
  }

  /// Stores an object under `key`, or removes the entry if it is `nil`.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.setObject(object, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Stores an object if the key is free, and returns whether it did.
  @discardableResult
  public func setObjectIfAbsent(
    _ object: any NSCoding, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) -> Bool {
    try diskCache.setObjectIfAbsent(object, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Removes the object under `key`, if it exists.
  public func removeObject(forKey key: String) throws(CacheError) { try removeValue(forKey: key) }

  /// Removes every object.
  public func removeAllObjects() throws(CacheError) { try removeAll() }
}
