public import Foundation

// YYCache's functions for objects that conform to NSCoding. Unlike YYCache's they throw errors.

extension LMDBCache {
  /// Whether there is an object under `key`, in memory or on the disk. Does not count as an access. False where it cannot be
  /// known: ``containsValue(forKey:)``, which is of objects too, throws there.
  public func containsObject(forKey key: String) -> Bool { contains(key) }

  /// Returns the object under `key`, or `nil` if there is none or it has expired.
  ///
  /// The memory tier hands out the instance that was stored. An object that is read from the disk is a new instance, which is
  /// kept in memory.
  /// Standard values that were stored with ``set(_:forKey:expiresIn:cost:)`` are given as Foundation's objects.
  ///
  /// - Throws: as ``value(_:forKey:)``.
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

  /// Stores an object under `key`, or with `nil` removes what is there.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.setObject(object, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Stores an object if there is none under `key`; see ``setValueIfAbsent(_:forKey:expires:cost:)``.
  ///
  /// - Returns: Whether it was stored.
  @discardableResult
  public func setObjectIfAbsent(
    _ object: any NSCoding, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) -> Bool {
    try diskCache.setObjectIfAbsent(object, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Removes the object under `key`, if there is one.
  public func removeObject(forKey key: String) throws(CacheError) { try removeValue(forKey: key) }

  /// Removes every object.
  public func removeAllObjects() throws(CacheError) { try removeAll() }
}
