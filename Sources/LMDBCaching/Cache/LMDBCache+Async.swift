// What may wait for the disk, for tasks: the work is done on a background queue, and no thread of Swift's pool is held.
//
// Writes are made one after the other in the order of the calls, together with those of the functions with completions,
// and everything else sees what was written by calls before it. Cancelling a task stops none of it. In an asynchronous
// function these are chosen; a call of the others is one in a closure that is not asynchronous.

extension LMDBCache {
  /// Makes everything written so far safe from a power cut, in every durability mode.
  public nonisolated(nonsending) func flush() async throws(CacheError) {
    try await background.perform(.aside) { [self] () throws(CacheError) in try flush() }
  }

  /// Commits what waits and ends the use of this object, when what was called for before is done.
  public nonisolated(nonsending) func close() async throws(CacheError) {
    try await background.perform(.write) { [self] () throws(CacheError) in try close() }
  }

  /// Makes several changes as one; see ``DiskCache/write(waitsForCommit:_:)``.
  ///
  /// - Parameter body: Collects the changes, on a background queue.
  public nonisolated(nonsending) func write(
    waitsForCommit: Bool = false, _ body: @escaping @Sendable (inout CacheBatch) throws -> Void
  ) async throws {
    try await background.perform(.write) { [self] in try write(waitsForCommit: waitsForCommit, body) }
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
