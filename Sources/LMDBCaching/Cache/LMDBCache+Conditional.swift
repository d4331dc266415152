// Operations that are one, whatever other threads and processes do meanwhile.
//
// While no other process has the cache open they are entries of the journal, as sets are. With others each is a
// transaction of the database, which waits for those that were written before: it takes as long as a commit, and needs
// the disk. A set of another process that is not committed yet counts as made later.

extension LMDBCache {
  // MARK: One entry

  /// Returns what is known of an entry without reading its value, or `nil` if there is none or it has expired. Does not
  /// count as an access.
  ///
  /// - Throws: `.closed`, `.storageFailed`, `.corruptedRecord`, `.unsupportedRecord`.
  public func entry(forKey key: String) throws(CacheError) -> CacheEntry? { try diskCache.entry(forKey: key) }

  /// Stores a value under `key`; see ``set(_:forKey:expiresIn:cost:)``.
  ///
  /// - Parameter expires: When the entry expires; `.unchanged` for when the one in its place would have.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; with `.unchanged` also as
  ///   ``setValueIfAbsent(_:forKey:expires:cost:)``.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.set(value, forKey: key, expires: expires, cost: cost, tags: nil, through: memoryCache)
  }

  /// Gives the entry under `key` another expiry. A value that is long is neither read nor written again, unless it went
  /// through ``CacheConfiguration/valueTransforms``: encryption authenticates the expiry with it, so it is restored,
  /// transformed and written anew, also where it was compressed only.
  ///
  /// - Returns: Whether there was an entry.
  /// - Throws: as ``setValueIfAbsent(_:forKey:expires:cost:)``, and for a value that went through transforms as
  ///   ``value(_:forKey:)``. `.notCommitted` for an entry that is in memory only.
  @discardableResult
  public func touch(forKey key: String, expires: Expiry) throws(CacheError) -> Bool {
    try diskCache.touch(forKey: key, expires: expires, through: memoryCache)
  }

  // MARK: Under a condition

  /// Stores a value if there is none under `key`, or only one that has expired.
  ///
  /// - Returns: Whether it was stored. Of several callers, in this process and others, one is told so.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; `.unsupportedRecord` or `.corruptedRecord` where there is an entry that
  ///   cannot be read, which is kept. While other processes have the cache open also `.storageFailed`, `.noSpace` and the
  ///   like, since it needs the disk, and `.lockTimeout`.
  @discardableResult
  public func setValueIfAbsent<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) -> Bool {
    try diskCache.setValueIfAbsent(value, forKey: key, expires: expires, cost: cost, tags: nil, through: memoryCache)
  }

  /// Stores a value in place of one that is still the one that was seen: compare-and-set.
  ///
  /// - Parameter version: Of ``entry(forKey:)``.
  /// - Returns: Whether it was stored. If not, the entry was written, removed or has expired.
  /// - Throws: as ``setValueIfAbsent(_:forKey:expires:cost:)``.
  @discardableResult
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, ifVersion version: EntryVersion, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) -> Bool {
    try diskCache.set(
      value, forKey: key, ifVersion: version, expires: expires, cost: cost, tags: nil, through: memoryCache)
  }

  /// Removes the entry under `key` if it is still the one that was seen.
  ///
  /// - Returns: Whether it was removed.
  /// - Throws: as ``setValueIfAbsent(_:forKey:expires:cost:)``.
  @discardableResult
  public func removeValue(forKey key: String, ifVersion version: EntryVersion) throws(CacheError) -> Bool {
    try diskCache.removeValue(forKey: key, ifVersion: version, through: memoryCache)
  }

  // MARK: Read and write as one

  /// Changes the value under `key`, or makes one, or removes it. No other change comes in between.
  ///
  /// - Parameters:
  ///   - expires: When the new entry expires.
  ///   - change: Is given the value, `nil` if there is none, and leaves what is to be stored, `nil` for nothing. It runs
  ///     again, with the new value, when another thread or process has changed the entry: it should do nothing but
  ///     compute. It may use other keys of the cache. What it throws is thrown here; nothing is changed then.
  /// - Returns: What was stored.
  /// - Throws: as ``value(_:forKey:)`` and ``setValueIfAbsent(_:forKey:expires:cost:)``, and what `change` throws, whatever
  ///   its type. `.recursiveUpdate` where `change` writes the entry itself, or waits for a thread that does.
  @discardableResult @inlinable
  public func update<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expires: Expiry = .unchanged, cost: Int? = nil,
    _ change: (inout V?) throws -> Void
  ) throws -> V? {
    try diskCache.update(
      type, forKey: key, expires: expires, cost: cost, through: memoryCache,
      reading: { () throws(CacheError) in try value(type, forKey: key) }, rethrowing: change)
  }

  /// Adds to the integer under `key`, which is 0 where there is none.
  ///
  /// - Parameter expires: When the entry expires.
  /// - Returns: The sum.
  /// - Throws: as ``value(_:forKey:)`` and ``setValueIfAbsent(_:forKey:expires:cost:)``, and `.invalidArgument` if the sum
  ///   is no `Int`.
  @discardableResult
  public func increment(
    forKey key: String, by amount: Int = 1, expires: Expiry = .unchanged
  ) throws(CacheError) -> Int {
    try diskCache.increment(forKey: key, by: amount, expires: expires, through: memoryCache) {
      () throws(CacheError) in try value(Int.self, forKey: key)
    }
  }

  /// Stores a value and returns the one that was there, or `nil` if there was none.
  ///
  /// - Throws: as ``value(_:forKey:)`` and ``setValueIfAbsent(_:forKey:expires:cost:)``.
  @discardableResult
  public func exchange<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) -> V? {
    try diskCache.exchange(value, forKey: key, expires: expires, cost: cost, through: memoryCache) {
      () throws(CacheError) in try self.value(V.self, forKey: key)
    }
  }

  /// Removes the entry under `key` and returns its value, or `nil` if there was none: of several callers one has it.
  ///
  /// - Throws: as ``exchange(_:forKey:expires:cost:)``.
  public func removeValue<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    try diskCache.removeValue(type, forKey: key, through: memoryCache) { () throws(CacheError) in
      try value(type, forKey: key)
    }
  }
}
