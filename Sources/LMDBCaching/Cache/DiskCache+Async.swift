public import Foundation

// Async forms of the calls that may wait for the disk. They run on a background queue and hold no thread of Swift's
// pool.
//
// Writes run in the order of the calls, together with those of the functions with completions; all other calls see
// earlier writes. What `write` and `update` write counts from the end of their closures, which may take long: later calls
// do not wait for them. Cancelling a task does not stop the work.

extension DiskCache {
  /// Opens, or makes, the cache in a directory; see ``LMDBCache/open(directory:configuration:)``.
  public nonisolated(nonsending) static func open(
    directory: URL, configuration: CacheConfiguration = CacheConfiguration()
  ) async throws(CacheError) -> DiskCache {
    try await BackgroundQueue.performAside { () throws(CacheError) in
      try DiskCache(directory: directory, configuration: configuration)
    }
  }

  /// See ``LMDBCache/flush()``.
  public nonisolated(nonsending) func flush() async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try flush() }
  }

  /// See ``LMDBCache/close()``. Earlier calls finish first.
  public nonisolated(nonsending) func close() async throws(CacheError) {
    try await background.perform(.last) { [self] () throws(CacheError) in try close() }
  }

  /// See ``LMDBCache/write(waitsForCommit:_:)``.
  public nonisolated(nonsending) func write(
    waitsForCommit: Bool = false, _ body: @escaping @Sendable (inout CacheBatch) throws -> Void
  ) async throws {
    try await background.perform(.aside) { [self] in try write(waitsForCommit: waitsForCommit, body) }
  }

  /// See ``LMDBCache/set(_:forKey:expires:cost:tags:waitsForCommit:)``.
  public nonisolated(nonsending) func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = [],
    waitsForCommit: Bool
  ) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in
      if waitsForCommit { return try commit(value, key, expires, cost, tags) }
      try set(value, forKey: key, expires: expires, cost: cost, tags: tags)
    }
  }

  func commit<V: Codable & Sendable>(
    _ value: V, _ key: String, _ expires: Expiry, _ cost: Int?, _ tags: [String]
  ) throws(CacheError) {
    // Bypasses the memory tier, which would hide a failing disk.
    try set(value, forKey: key, expires: expires, cost: cost, tags: EntryTags.make(tags), through: nil)
    try commitPending()
  }

  /// See ``LMDBCache/read(_:)``.
  public nonisolated(nonsending) func read<R: Sendable>(
    _ body: @escaping @Sendable (borrowing CacheSnapshot) throws -> R
  ) async throws -> R {
    try await background.perform(.aside) { [self] in try read(body) }
  }

  /// See ``LMDBCache/entries(withPrefix:)``.
  public nonisolated(nonsending) func entries(withPrefix prefix: String = "") async throws(CacheError) -> [CacheEntry] {
    try await background.perform(.aside) { [self] () throws(CacheError) in try entries(withPrefix: prefix) }
  }

  /// See ``LMDBCache/removeAll()``.
  public nonisolated(nonsending) func removeAll() async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll() }
  }

  /// See ``LMDBCache/removeAll(withPrefix:)``.
  public nonisolated(nonsending) func removeAll(withPrefix prefix: String) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(withPrefix: prefix) }
  }

  /// See ``LMDBCache/removeAll(taggedWith:)``.
  public nonisolated(nonsending) func removeAll(taggedWith tag: String) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(taggedWith: tag) }
  }

  /// See ``LMDBCache/removeAll(taggedWithAnyOf:)``.
  public nonisolated(nonsending) func removeAll(
    taggedWithAnyOf tags: some Sequence<String> & Sendable
  ) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(taggedWithAnyOf: tags) }
  }

  /// See ``removeAll(createdBefore:)``.
  public nonisolated(nonsending) func removeAll(createdBefore date: Date) async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeAll(createdBefore: date) }
  }

  /// See ``LMDBCache/entryCount()``.
  public nonisolated(nonsending) func entryCount() async throws(CacheError) -> Int {
    try await background.perform(.aside) { [self] () throws(CacheError) in try entryCount() }
  }

  /// See ``LMDBCache/totalEntryCost()``.
  public nonisolated(nonsending) func totalEntryCost() async throws(CacheError) -> Int {
    try await background.perform(.aside) { [self] () throws(CacheError) in try totalEntryCost() }
  }

  /// See ``bytesOnDisk()``.
  public nonisolated(nonsending) func bytesOnDisk() async throws(CacheError) -> Int {
    try await background.perform(.aside) { [self] () throws(CacheError) in try bytesOnDisk() }
  }

  /// See ``trim(toCount:)``.
  public nonisolated(nonsending) func trim(toCount count: Int) async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try trim(toCount: count) }
  }

  /// See ``trim(toCost:)``.
  public nonisolated(nonsending) func trim(toCost cost: Int) async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try trim(toCost: cost) }
  }

  /// See ``trim(toAge:)``.
  public nonisolated(nonsending) func trim(toAge age: Duration) async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try trim(toAge: age) }
  }

  /// See ``trimToLimits()``.
  public nonisolated(nonsending) func trimToLimits() async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try trimToLimits() }
  }

  // MARK: With a completion, which is called on a background queue with the error, if there was one

  /// See ``trim(toCount:)``.
  public func trim(toCount count: Int, completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.aside, { [self] () throws(CacheError) in try trim(toCount: count) }, completion: completion)
  }

  /// See ``trim(toCost:)``.
  public func trim(toCost cost: Int, completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.aside, { [self] () throws(CacheError) in try trim(toCost: cost) }, completion: completion)
  }

  /// See ``trim(toAge:)``.
  public func trim(toAge age: Duration, completion: @escaping @Sendable (CacheError?) -> Void) {
    background.report(.aside, { [self] () throws(CacheError) in try trim(toAge: age) }, completion: completion)
  }
}
