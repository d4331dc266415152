// The closure may take its time, and its result a commit: in a task both happen on a background queue. The other atomic
// operations take microseconds and have no form for tasks.

extension LMDBCache {
  /// Changes the value under `key`, or makes one, or removes it. No other change comes in between.
  ///
  /// - Parameter change: As of the form for threads; it runs on the background queue.
  /// - Returns: What was stored.
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
