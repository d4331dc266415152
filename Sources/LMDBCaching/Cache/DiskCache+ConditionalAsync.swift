// The operations that are one, for tasks: each may take a commit while other processes have the cache open, and is done on
// a background queue, after the writes that were called for before. In an asynchronous function these are chosen; a call of
// the others is one in a closure that is not asynchronous.

extension DiskCache {
  /// See ``LMDBCache/touch(forKey:expires:)``.
  @discardableResult
  public nonisolated(nonsending) func touch(forKey key: String, expires: Expiry) async throws(CacheError) -> Bool {
    try await background.perform(.write) { [self] () throws(CacheError) in try touch(forKey: key, expires: expires) }
  }

  /// See ``LMDBCache/setValueIfAbsent(_:forKey:expires:cost:tags:)``.
  @discardableResult
  public nonisolated(nonsending) func setValueIfAbsent<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = []
  ) async throws(CacheError) -> Bool {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try setValueIfAbsent(value, forKey: key, expires: expires, cost: cost, tags: tags)
    }
  }

  /// See ``LMDBCache/set(_:forKey:ifVersion:expires:cost:tags:)``.
  @discardableResult
  public nonisolated(nonsending) func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, ifVersion version: EntryVersion, expires: Expiry = .never, cost: Int? = nil,
    tags: [String] = []
  ) async throws(CacheError) -> Bool {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try set(value, forKey: key, ifVersion: version, expires: expires, cost: cost, tags: tags)
    }
  }

  /// See ``LMDBCache/removeValue(forKey:ifVersion:)``.
  @discardableResult
  public nonisolated(nonsending) func removeValue(
    forKey key: String, ifVersion version: EntryVersion
  ) async throws(CacheError) -> Bool {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try removeValue(forKey: key, ifVersion: version)
    }
  }

  /// See ``LMDBCache/update(_:forKey:expires:cost:_:)``.
  @discardableResult
  public nonisolated(nonsending) func update<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expires: Expiry = .unchanged, cost: Int? = nil,
    _ change: @escaping @Sendable (inout V?) throws -> Void
  ) async throws -> V? {
    try await background.perform(.write) { [self] in
      try update(type, forKey: key, expires: expires, cost: cost, change)
    }
  }

  /// See ``LMDBCache/increment(forKey:by:expires:)``.
  @discardableResult
  public nonisolated(nonsending) func increment(
    forKey key: String, by amount: Int = 1, expires: Expiry = .unchanged
  ) async throws(CacheError) -> Int {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try increment(forKey: key, by: amount, expires: expires)
    }
  }

  /// See ``LMDBCache/exchange(_:forKey:expires:cost:)``.
  @discardableResult
  public nonisolated(nonsending) func exchange<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil
  ) async throws(CacheError) -> V? {
    try await background.perform(.write) { [self] () throws(CacheError) in
      try exchange(value, forKey: key, expires: expires, cost: cost)
    }
  }

  /// See ``LMDBCache/removeValue(_:forKey:)``.
  public nonisolated(nonsending) func removeValue<V: Codable & Sendable>(
    _ type: V.Type, forKey key: String
  ) async throws(CacheError) -> V? {
    try await background.perform(.write) { [self] () throws(CacheError) in try removeValue(type, forKey: key) }
  }
}
