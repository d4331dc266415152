public import Foundation

// What may wait for the disk, for tasks: the work is done on a background queue, and no thread of Swift's pool is held.
//
// Writes are made one after the other in the order of the calls, together with those of the functions with completions,
// and everything else sees what was written by calls before it. Cancelling a task stops none of it. Async code gets these
// forms of the calls that may wait; the others have no async form.

extension LMDBCache {
  // MARK: Opening

  /// Opens, or makes, a cache in one of the user's directories; see ``init(name:in:configuration:)``. An opening may have to
  /// verify a file, to bring in what a process has left that died, or to wait for another one.
  ///
  /// - Throws: as ``init(directory:configuration:)``.
  public nonisolated(nonsending) static func open(
    name: String, in place: UserDirectory = .caches, configuration: CacheConfiguration? = nil
  ) async throws(CacheError) -> LMDBCache {
    try await BackgroundQueue.performAside { () throws(CacheError) in
      try LMDBCache(name: name, in: place, configuration: configuration)
    }
  }

  /// Opens, or makes, the cache in a directory; see ``init(directory:configuration:)``.
  ///
  /// - Throws: as that.
  public nonisolated(nonsending) static func open(
    directory: URL, configuration: CacheConfiguration = CacheConfiguration()
  ) async throws(CacheError) -> LMDBCache {
    try await BackgroundQueue.performAside { () throws(CacheError) in
      try LMDBCache(directory: directory, configuration: configuration)
    }
  }

  // MARK: What waits for the disk

  /// Makes everything written so far safe from a power cut, in every durability mode.
  public nonisolated(nonsending) func flush() async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try flush() }
  }

  /// Commits what waits and ends the use of this object, when what was called for before is done.
  public nonisolated(nonsending) func close() async throws(CacheError) {
    try await background.perform(.last) { [self] () throws(CacheError) in try close() }
  }

  /// Makes several changes as one; see ``DiskCache/write(waitsForCommit:_:)``.
  ///
  /// - Parameter body: Collects the changes, on a background queue.
  public nonisolated(nonsending) func write(
    waitsForCommit: Bool = false, _ body: @escaping @Sendable (inout CacheBatch) throws -> Void
  ) async throws {
    try await background.perform(.aside) { [self] in try write(waitsForCommit: waitsForCommit, body) }
  }

  /// Stores a value, and waits without holding a thread: with ``Durability/full`` a set waits for the disk.
  ///
  /// - Parameter waitsForCommit: Whether to return when other processes see the value, and it is as safe from a power cut as
  ///   the ``Durability`` says; else as soon as a set of the form for threads would.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``. Where it waits for the commit also when the disk is full or fails:
  ///   `.notCommitted` if the value is stored but could not be committed so far.
  public nonisolated(nonsending) func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = [],
    waitsForCommit: Bool
  ) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in
      if waitsForCommit { return try diskCache.commit(value, key, expires, cost, tags) }
      try set(value, forKey: key, expires: expires, cost: cost, tags: tags)
    }
  }

  /// Reads from one consistent snapshot that includes every write that returned before.
  ///
  /// - Parameter body: Reads, on a background queue. Keep it short.
  public nonisolated(nonsending) func read<R: Sendable>(
    _ body: @escaping @Sendable (borrowing CacheSnapshot) throws -> R
  ) async throws -> R {
    try await background.perform(.aside) { [self] in try read(body) }
  }

  /// The live entries whose keys start with `prefix`, in byte order of their keys, as of one moment. For many entries
  /// there is ``entries(withPrefix:pageSize:)``.
  public nonisolated(nonsending) func entries(withPrefix prefix: String = "") async throws(CacheError) -> [CacheEntry] {
    try await background.perform(.aside) { [self] () throws(CacheError) in try entries(withPrefix: prefix) }
  }

  /// Removes every entry, in every process that shares the directory.
  public nonisolated(nonsending) func removeAll() async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll() }
  }

  /// Removes every entry whose key starts with `prefix`, byte for byte.
  public nonisolated(nonsending) func removeAll(withPrefix prefix: String) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(withPrefix: prefix) }
  }

  /// Removes every entry that was stored with the tag, in every process that shares the directory.
  public nonisolated(nonsending) func removeAll(taggedWith tag: String) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(taggedWith: tag) }
  }

  /// Removes every entry that was stored with one of the tags, all at once.
  public nonisolated(nonsending) func removeAll(
    taggedWithAnyOf tags: some Sequence<String> & Sendable
  ) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(taggedWithAnyOf: tags) }
  }

  /// Removes expired entries and those that were stored before `date`, however often they were read since.
  public nonisolated(nonsending) func removeAll(createdBefore date: Date) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(createdBefore: date) }
  }

  /// Number of entries on the disk, where every entry is; expired ones count until they are removed.
  public nonisolated(nonsending) func entryCount() async throws(CacheError) -> Int { try await diskCache.entryCount() }

  /// The sum of the entries' costs.
  public nonisolated(nonsending) func totalEntryCost() async throws(CacheError) -> Int {
    try await diskCache.totalEntryCost()
  }

  /// Removes entries from both tiers until each holds at most `count`.
  public nonisolated(nonsending) func trim(toCount count: Int) async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try trim(toCount: count) }
  }

  /// Removes entries from both tiers until each costs at most `cost`.
  public nonisolated(nonsending) func trim(toCost cost: Int) async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try trim(toCost: cost) }
  }

  /// Removes the entries of both tiers whose last access is longer ago than `age`.
  public nonisolated(nonsending) func trim(toAge age: Duration) async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try trim(toAge: age) }
  }

  // MARK: With a completion, which is called on a background queue with the error, if there was one

  /// Removes entries from both tiers until each holds at most `count`.
  public func trim(toCount count: Int, completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.aside, { [self] () throws(CacheError) in try trim(toCount: count) }, completion: completion)
  }

  /// Removes entries from both tiers until each costs at most `cost`.
  public func trim(toCost cost: Int, completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.aside, { [self] () throws(CacheError) in try trim(toCost: cost) }, completion: completion)
  }

  /// Removes the entries of both tiers whose last access is longer ago than `age`.
  public func trim(toAge age: Duration, completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.aside, { [self] () throws(CacheError) in try trim(toAge: age) }, completion: completion)
  }
}
