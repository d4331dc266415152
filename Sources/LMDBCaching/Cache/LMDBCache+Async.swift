public import Foundation

// Async forms of the calls that may wait for the disk. They run on a background queue and hold no thread of Swift's
// pool.
//
// Writes run in the order of the calls, together with those of the functions with completions; all other calls see
// earlier writes. Cancelling a task does not stop them.

extension LMDBCache {
  // MARK: Opening

  /// Opens or creates a cache in one of the user's directories; see ``init(name:in:configuration:)``. Opening may
  /// verify a file, recover the writes of a dead process, or wait for another process.
  ///
  /// - Throws: as ``init(directory:configuration:)``.
  public nonisolated(nonsending) static func open(
    name: String, in place: UserDirectory = .caches, configuration: CacheConfiguration? = nil
  ) async throws(CacheError) -> LMDBCache {
    try await BackgroundQueue.performAside { () throws(CacheError) in
      try LMDBCache(name: name, in: place, configuration: configuration)
    }
  }

  /// Opens or creates the cache in a directory; see ``init(directory:configuration:)``.
  public nonisolated(nonsending) static func open(
    directory: URL, configuration: CacheConfiguration = CacheConfiguration()
  ) async throws(CacheError) -> LMDBCache {
    try await BackgroundQueue.performAside { () throws(CacheError) in
      try LMDBCache(directory: directory, configuration: configuration)
    }
  }

  // MARK: Waiting for the disk

  /// Makes all earlier writes safe from a power cut, in every durability mode.
  public nonisolated(nonsending) func flush() async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try flush() }
  }

  /// Commits pending writes and closes this object, after all earlier calls.
  public nonisolated(nonsending) func close() async throws(CacheError) {
    try await background.perform(.last) { [self] () throws(CacheError) in try close() }
  }

  /// Makes several changes as one; `body` collects them on a background queue. See
  /// ``DiskCache/write(waitsForCommit:_:)``.
  public nonisolated(nonsending) func write(
    waitsForCommit: Bool = false, _ body: @escaping @Sendable (inout CacheBatch) throws -> Void
  ) async throws {
    try await background.perform(.aside) { [self] in try write(waitsForCommit: waitsForCommit, body) }
  }

  /// Stores a value without holding a thread: with ``Durability/full`` a set waits for the disk.
  ///
  /// - Parameter waitsForCommit: Whether to return only when other processes see the value, and it is as safe from a
  ///   power cut as the ``Durability`` promises.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``. If it waits for the commit, also when the disk is full or fails:
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

  /// Reads from one consistent snapshot that includes all earlier writes.
  ///
  /// - Parameter body: Reads, on a background queue. Keep it short.
  public nonisolated(nonsending) func read<R: Sendable>(
    _ body: @escaping @Sendable (borrowing CacheSnapshot) throws -> R
  ) async throws -> R {
    try await background.perform(.aside) { [self] in try read(body) }
  }

  /// Returns a snapshot of the live entries whose keys start with `prefix`, in byte order of their keys. For many
  /// entries, use ``entries(withPrefix:pageSize:)``.
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

  /// Removes every entry stored with the tag, in every process that shares the directory.
  public nonisolated(nonsending) func removeAll(taggedWith tag: String) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(taggedWith: tag) }
  }

  /// Removes every entry stored with one of the tags, as one change.
  public nonisolated(nonsending) func removeAll(
    taggedWithAnyOf tags: some Sequence<String> & Sendable
  ) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(taggedWithAnyOf: tags) }
  }

  /// Removes expired entries and those stored before `date`, regardless of later reads.
  public nonisolated(nonsending) func removeAll(createdBefore date: Date) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(createdBefore: date) }
  }

  /// Number of entries on the disk, including expired ones until they are removed.
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
