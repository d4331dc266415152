// The closure may be slow, and the write may wait for a commit, so both run on a background queue. The other atomic
// operations take microseconds, or a commit while other processes have the cache open, and have no async form.

extension LMDBCache {
  /// Changes, creates or removes the value under `key`, atomically. `change` runs on the background queue.
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
}
