public import Foundation

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
