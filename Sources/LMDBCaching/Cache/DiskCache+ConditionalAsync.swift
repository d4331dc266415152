// The operations that are one, for tasks: each may take a commit while other processes have the cache open, and is done on
// a background queue, after the writes that were called for before. In an asynchronous function these are chosen; a call of
// the others is one in a closure that is not asynchronous.

extension DiskCache {
  /// Gives the entry under `key` another expiry.
  ///
  /// - Returns: Whether there was an entry.
  @discardableResult
  public nonisolated(nonsending) func touch(forKey key: String, expires: Expiry) async throws(CacheError) -> Bool {
    try await background.perform(.write) { [self] () throws(CacheError) in try touch(forKey: key, expires: expires) }
  }

  /// Stores a value, with tags if there are some, if there is none under `key`, or only one that has expired.
  ///
  /// - Returns: Whether it was stored. Of several callers, in this process and others, one is told so.
  @discardableResult
  public nonisolated(nonsending) func setValueIfAbsent<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = []
  ) async throws(CacheError) -> Bool {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try setValueIfAbsent(value, forKey: key, expires: expires, cost: cost, tags: tags)
    }
  }

  /// Stores a value, with tags if there are some, in place of one that is still the one that was seen: compare-and-set.
  ///
  /// - Returns: Whether it was stored.
  @discardableResult
  public nonisolated(nonsending) func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, ifVersion version: EntryVersion, expires: Expiry = .never, cost: Int? = nil,
    tags: [String] = []
  ) async throws(CacheError) -> Bool {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try set(value, forKey: key, ifVersion: version, expires: expires, cost: cost, tags: tags)
    }
  }

  /// Removes the entry under `key` if it is still the one that was seen.
  ///
  /// - Returns: Whether it was removed.
  @discardableResult
  public nonisolated(nonsending) func removeValue(
    forKey key: String, ifVersion version: EntryVersion
  ) async throws(CacheError) -> Bool {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try removeValue(forKey: key, ifVersion: version)
    }
  }

  /// Changes the value under `key`, or makes one, or removes it. No other change comes in between.
  ///
  /// - Parameter change: As of the form for threads; it runs on the background queue.
  /// - Returns: What was stored.
  @discardableResult
  public nonisolated(nonsending) func update<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expires: Expiry = .unchanged, cost: Int? = nil,
    _ change: @escaping @Sendable (inout V?) throws -> Void
  ) async throws -> V? {
    try await background.perform(.write) { [self] in
      try update(type, forKey: key, expires: expires, cost: cost, change)
    }
  }

  /// Adds to the integer under `key`, which is 0 where there is none.
  ///
  /// - Returns: The sum.
  @discardableResult
  public nonisolated(nonsending) func increment(
    forKey key: String, by amount: Int = 1, expires: Expiry = .unchanged
  ) async throws(CacheError) -> Int {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try increment(forKey: key, by: amount, expires: expires)
    }
  }

  /// Stores a value and returns the one that was there, or `nil` if there was none.
  @discardableResult
  public nonisolated(nonsending) func exchange<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil
  ) async throws(CacheError) -> V? {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try exchange(value, forKey: key, expires: expires, cost: cost)
    }
  }

  /// Removes the entry under `key` and returns its value, or `nil` if there was none: of several callers one has it.
  public nonisolated(nonsending) func removeValue<V: Codable & Sendable>(
    _ type: V.Type, forKey key: String
  ) async throws(CacheError) -> V? {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeValue(type, forKey: key) }
  }
}
