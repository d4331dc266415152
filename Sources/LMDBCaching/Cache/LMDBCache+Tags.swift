public import Foundation

// Entries that are removed together. A tag costs nothing where it is not used, and a hit on an entry that has some looks at
// a word for each.

extension LMDBCache {
  // MARK: Writing

  /// Stores a value under `key` with tags, which ``removeAll(taggedWith:)`` removes it by. The entry has no others: what is
  /// stored under the key next has those that it is given. ``update(_:forKey:expires:cost:_:)`` and
  /// ``touch(forKey:expires:)`` leave an entry its tags.
  ///
  /// - Parameter tags: Any strings, 64 different ones at most. Each takes eight bytes of the entry.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``, and `.invalidArgument` for too many tags.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil, tags: [String]
  ) throws(CacheError) {
    try diskCache.set(
      value, forKey: key, expiresIn: expiresIn, cost: cost, tags: EntryTags.make(tags), through: memoryCache)
  }

  /// The same with another form of expiry.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int? = nil, tags: [String]
  ) throws(CacheError) {
    try diskCache.set(
      value, forKey: key, expires: expires, cost: cost, tags: EntryTags.make(tags), through: memoryCache)
  }

  /// Stores a value with tags if there is none under `key`; see ``setValueIfAbsent(_:forKey:expires:cost:)``.
  @discardableResult
  public func setValueIfAbsent<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String]
  ) throws(CacheError) -> Bool {
    try diskCache.setValueIfAbsent(
      value, forKey: key, expires: expires, cost: cost, tags: EntryTags.make(tags), through: memoryCache)
  }

  /// Stores a value with tags in place of one that is still the one that was seen; see
  /// ``set(_:forKey:ifVersion:expires:cost:)``.
  @discardableResult
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, ifVersion version: EntryVersion, expires: Expiry = .never, cost: Int? = nil,
    tags: [String]
  ) throws(CacheError) -> Bool {
    try diskCache.set(
      value, forKey: key, ifVersion: version, expires: expires, cost: cost, tags: EntryTags.make(tags),
      through: memoryCache)
  }

  /// Stores an object with tags; see ``setObject(_:forKey:expiresIn:cost:)``.
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil, tags: [String]
  ) throws(CacheError) {
    try diskCache.setObject(
      object, forKey: key, expiresIn: expiresIn, cost: cost, tags: EntryTags.make(tags), through: memoryCache)
  }

  // MARK: Removing

  /// Removes every entry that was stored with the tag, in every process that shares the directory.
  ///
  /// It takes as long as the removal of one entry, however many there are: that the tag was removed is written down, and
  /// an entry that was stored before is not there any more for anybody. Within seconds, or some more where removals follow
  /// each other, upkeep takes them out of the files; ``count`` and ``totalCost`` include them until then.
  ///
  /// To other processes all of them are gone with one commit, as with ``removeAll()``; nothing written before comes back,
  /// also not from journals of processes that die. A process that was suspended for more than an hour with writes of
  /// tagged entries that it had not committed loses those, since nobody may remember by then which tags were removed.
  ///
  /// - Throws: `.closed`; with ``Durability/full`` also `.notCommitted`. `.noSpace` and the like if the removal cannot be
  ///   recorded: nothing is removed then.
  public func removeAll(taggedWith tag: String) throws(CacheError) { try diskCache.removeAll(taggedWith: tag) }

  /// Removes every entry that was stored with one of the tags, all at once.
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
