// What may wait for the disk, for tasks: the work is done on a background queue, and no thread of Swift's pool is held.
//
// Writes are made one after the other in the order of the calls, together with those of the functions with completions,
// and everything else sees what was written by calls before it. Cancelling a task stops none of it.

extension DiskCache {
  /// See ``LMDBCache/flush()``.
  public nonisolated(nonsending) func flush() async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try flush() }
  }

  /// See ``LMDBCache/close()``. What was called for before is done first.
  public nonisolated(nonsending) func close() async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try close() }
  }

  /// See ``LMDBCache/write(waitsForCommit:_:)``.
  public nonisolated(nonsending) func write(
    waitsForCommit: Bool = false, _ body: @escaping @Sendable (inout CacheBatch) throws -> Void
  ) async throws {
    try await background.perform(.write) { [self] in try write(waitsForCommit: waitsForCommit, body) }
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
