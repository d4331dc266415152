public import Foundation

// Async forms of the calls that may wait for the disk or for the caller's closure. They run on a background queue and hold
// no thread of Swift's pool.
//
// Writes run in the order of the calls, together with those of the functions with completions; all other calls see
// earlier writes. The changes of `write` and `update` count from the end of their closures, which may take long: later
// calls do not wait for them. Cancelling a task does not stop the work.

extension LMDBCache {
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

  /// Makes all earlier writes safe from a power cut, in every durability mode.
  public nonisolated(nonsending) func flush() async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try flush() }
  }

  /// Commits pending writes and closes this object, after all earlier calls.
  public nonisolated(nonsending) func close() async throws(CacheError) {
    try await background.perform(.last) { [self] () throws(CacheError) in try close() }
  }

  /// Makes several changes as one; `body` collects them on a background queue.
  public nonisolated(nonsending) func write(
    waitsForCommit: Bool = false, _ body: @escaping @Sendable (inout CacheBatch) throws -> Void
  ) async throws {
    try await background.perform(.aside) { [self] in try write(waitsForCommit: waitsForCommit, body) }
  }

  /// Reads from one consistent snapshot that includes all earlier writes.
  ///
  /// - Parameter body: Reads, on a background queue. Keep it short.
  public nonisolated(nonsending) func read<R: Sendable>(
    _ body: @escaping @Sendable (borrowing CacheSnapshot) throws -> R
  ) async throws -> R {
    try await background.perform(.aside) { [self] in try read(body) }
  }

  /// Changes, creates or removes the value under `key`, atomically. `change` runs on a background queue.
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

  /// Removes entries, in every process that shares the directory.
  public nonisolated(nonsending) func removeAll(_ selection: CacheSelection = .all) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(selection) }
  }

  /// Removes entries from both tiers until each is within `target`.
  public nonisolated(nonsending) func trim(to target: TrimTarget) async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try trim(to: target) }
  }
}

extension DiskTier {
  /// Removes entries until the tier is within `target`.
  public nonisolated(nonsending) func trim(to target: TrimTarget) async throws(CacheError) {
    try await cache.background.perform(.aside) { [self] () throws(CacheError) in try trim(to: target) }
  }
}
