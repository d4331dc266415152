public import Foundation

// Operations that are atomic across threads and processes.
//
// While the cache is open in one process only, they are entries of the journal, as sets are. Otherwise each is a
// transaction of the database that waits for earlier writes: it takes as long as a commit, and needs the disk. An
// uncommitted set of another process counts as later.

extension LMDBCache {
  // MARK: One entry

  /// Returns the properties of an entry without its value, or `nil` if it is missing or has expired. Not an access.
  ///
  /// - Throws: `.closed`, `.storageFailed`, `.corruptedRecord`, `.unsupportedRecord`.
  public func entry(forKey key: String) throws(CacheError) -> CacheEntry? { try diskCache.entry(forKey: key) }

  /// Stores a value under `key`; see ``set(_:forKey:expiresIn:cost:)``.
  ///
  /// - Parameter expires: When the entry expires; `.unchanged` keeps the expiry of the replaced one.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; with `.unchanged` also as
  ///   ``setValueIfAbsent(_:forKey:expires:cost:)``.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.set(value, forKey: key, expires: expires, cost: cost, tags: nil, through: memoryCache)
  }

  /// Changes the expiry of the entry under `key`. A long value is neither read nor written, unless it went through
  /// ``CacheConfiguration/valueTransforms``: encryption authenticates the expiry, so the value is transformed again,
  /// even if it was only compressed.
  ///
  /// - Returns: Whether the entry exists.
  /// - Throws: as ``setValueIfAbsent(_:forKey:expires:cost:)``, and for a transformed value as ``value(_:forKey:)``.
  ///   `.notCommitted` for an entry that is in memory only.
  @discardableResult
  public func touch(forKey key: String, expires: Expiry) throws(CacheError) -> Bool {
    try diskCache.touch(forKey: key, expires: expires, through: memoryCache)
  }

  // MARK: Under a condition

  /// Stores a value if the entry under `key` is missing or has expired.
  ///
  /// - Returns: Whether it was stored. Of several callers, in any processes, one succeeds.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; `.unsupportedRecord` or `.corruptedRecord` for an unreadable
  ///   entry, which is kept. If other processes have the cache open, also `.lockTimeout` and errors of the disk
  ///   (`.storageFailed`, `.noSpace` and similar).
  @discardableResult
  public func setValueIfAbsent<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) -> Bool {
    try diskCache.setValueIfAbsent(value, forKey: key, expires: expires, cost: cost, tags: nil, through: memoryCache)
  }

  /// Stores a value if the entry still has a version: compare-and-set.
  ///
  /// - Parameter version: From ``entry(forKey:)``.
  /// - Returns: Whether it was stored. If not, the entry was written or removed, or has expired.
  /// - Throws: as ``setValueIfAbsent(_:forKey:expires:cost:)``.
  @discardableResult
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, ifVersion version: EntryVersion, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) -> Bool {
    try diskCache.set(
      value, forKey: key, ifVersion: version, expires: expires, cost: cost, tags: nil, through: memoryCache)
  }

  /// Removes the entry under `key` if it still has a version, and returns whether it did.
  ///
  /// - Throws: as ``setValueIfAbsent(_:forKey:expires:cost:)``.
  @discardableResult
  public func removeValue(forKey key: String, ifVersion version: EntryVersion) throws(CacheError) -> Bool {
    try diskCache.removeValue(forKey: key, ifVersion: version, through: memoryCache)
  }

  // MARK: Read and write as one

  /// Changes, creates or removes the value under `key`, atomically.
  ///
  /// - Parameters:
  ///   - expires: When the new entry expires.
  ///   - change: Receives the value, or `nil` if it is missing, and leaves the new one, or `nil` to store none. It runs
  ///     again if another thread or process has changed the entry, so it should only compute. It may use other keys of
  ///     the cache. If it throws, nothing changes.
  /// - Returns: The stored value.
  /// - Throws: as ``value(_:forKey:)`` and ``setValueIfAbsent(_:forKey:expires:cost:)``, and any error of `change`.
  ///   `.recursiveUpdate` if `change` writes the entry itself, or waits for a thread that does.
  @discardableResult @inlinable
  public func update<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expires: Expiry = .unchanged, cost: Int? = nil,
    _ change: (inout V?) throws -> Void
  ) throws -> V? {
    try diskCache.update(
      type, forKey: key, expires: expires, cost: cost, through: memoryCache,
      reading: { () throws(CacheError) in try value(type, forKey: key) }, rethrowing: change)
  }

  /// Adds to the integer under `key`, or to 0 if it is missing.
  ///
  /// - Parameter expires: When the entry expires.
  /// - Returns: The sum.
  /// - Throws: as ``value(_:forKey:)`` and ``setValueIfAbsent(_:forKey:expires:cost:)``, and `.invalidArgument` on
  ///   overflow.
  @discardableResult
  public func increment(
    forKey key: String, by amount: Int = 1, expires: Expiry = .unchanged
  ) throws(CacheError) -> Int {
    try diskCache.increment(forKey: key, by: amount, expires: expires, through: memoryCache) {
      () throws(CacheError) in try value(Int.self, forKey: key)
    }
  }

  /// Stores a value and returns the replaced one, or `nil`.
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

  /// Removes the entry under `key` and returns its value, or `nil` if it is missing. Of several callers one gets it.
  ///
  /// - Throws: as ``exchange(_:forKey:expires:cost:)``.
  public func removeValue<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    try diskCache.removeValue(type, forKey: key, through: memoryCache) { () throws(CacheError) in
      try value(type, forKey: key)
    }
  }
}

// The closure may be slow, and the write may wait for a commit, so both run on a background queue. The other atomic
// operations take microseconds, or a commit while other processes have the cache open, and have no async form.

extension LMDBCache {
  /// Changes, creates or removes the value under `key`, atomically. `change` runs on the background queue.
  ///
  /// - Returns: The stored value.
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

// Tags cost nothing unless used; a hit on a tagged entry checks one word for each tag.

extension LMDBCache {
  // MARK: Writing

  /// Stores a value under `key` with tags, for ``removeAll(taggedWith:)``. The next `set` of the key replaces the tags;
  /// ``update(_:forKey:expires:cost:_:)`` and ``touch(forKey:expires:)`` keep them.
  ///
  /// - Parameter tags: Any strings, up to 64 different ones. Each takes eight bytes of the entry.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``, and `.invalidArgument` for too many tags.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil, tags: [String]
  ) throws(CacheError) {
    try diskCache.set(
      value, forKey: key, expiresIn: expiresIn, cost: cost, tags: EntryTags.make(tags), through: memoryCache)
  }

  /// Stores a value with tags and an ``Expiry``.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int? = nil, tags: [String]
  ) throws(CacheError) {
    try diskCache.set(
      value, forKey: key, expires: expires, cost: cost, tags: EntryTags.make(tags), through: memoryCache)
  }

  /// Stores a value with tags if the key is free, and returns whether it did.
  @discardableResult
  public func setValueIfAbsent<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String]
  ) throws(CacheError) -> Bool {
    try diskCache.setValueIfAbsent(
      value, forKey: key, expires: expires, cost: cost, tags: EntryTags.make(tags), through: memoryCache)
  }

  /// Stores a value with tags if the entry still has the version; see ``set(_:forKey:ifVersion:expires:cost:)``.
  @discardableResult
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, ifVersion version: EntryVersion, expires: Expiry = .never, cost: Int? = nil,
    tags: [String]
  ) throws(CacheError) -> Bool {
    try diskCache.set(
      value, forKey: key, ifVersion: version, expires: expires, cost: cost, tags: EntryTags.make(tags),
      through: memoryCache)
  }

  /// Stores an object with tags.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil, tags: [String]
  ) throws(CacheError) {
    try diskCache.setObject(
      object, forKey: key, expiresIn: expiresIn, cost: cost, tags: EntryTags.make(tags), through: memoryCache)
  }

  // MARK: Removing

  /// Removes every entry stored with the tag, in every process that shares the directory.
  ///
  /// It takes as long as the removal of one entry: it records the removal, which hides all older entries at once.
  /// Upkeep deletes them from the files within seconds, or later after many removals; ``count`` and ``totalCost``
  /// include them until then.
  ///
  /// Other processes see the removal with one commit. Earlier writes never come back, even from journals of processes
  /// that die. A process that was suspended for more than an hour loses its uncommitted writes of tagged entries,
  /// because the removals of that time may be forgotten.
  ///
  /// - Throws: `.closed`; with ``Durability/full`` also `.notCommitted`. `.noSpace` and similar if the removal cannot
  ///   be recorded: nothing is removed then.
  public func removeAll(taggedWith tag: String) throws(CacheError) { try diskCache.removeAll(taggedWith: tag) }

  /// Removes every entry stored with one of the tags, as one change.
  public func removeAll(taggedWithAnyOf tags: some Sequence<String>) throws(CacheError) {
    try diskCache.removeAll(taggedWithAnyOf: tags)
  }
}

extension DiskCache {
  /// See ``LMDBCache/set(_:forKey:expires:cost:tags:)``. Throws also when the disk is full or fails.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String]
  ) throws(CacheError) {
    try set(value, forKey: key, expires: expires, cost: cost, tags: EntryTags.make(tags), through: nil)
  }

  /// See ``LMDBCache/removeAll(taggedWith:)``.
  public func removeAll(taggedWith tag: String) throws(CacheError) {
    try checkOpen()
    try store.removeAll(tags: [EntryTags.hash(tag)])
  }

  /// See ``LMDBCache/removeAll(taggedWithAnyOf:)``.
  public func removeAll(taggedWithAnyOf tags: some Sequence<String>) throws(CacheError) {
    try checkOpen()
    try store.removeAll(tags: Set(tags.map(EntryTags.hash)).sorted())
  }
}
