import Platform

// One load for all processes of a directory.

extension LMDBCache {
  /// Runs `load` while no other process loads the key, unless one of them stores the value first.
  ///
  /// Waits up to ``CacheConfiguration/loadWaitLimit``, then loads anyway: the other process may be suspended. All
  /// waiting processes get its failure.
  ///
  /// - Parameters:
  ///   - look: Returns the value if it has been stored.
  ///   - load: Loads and stores.
  /// - Throws: the error of `load`, and `.loadFailed`.
  func leasing<R>(_ key: String, look: () throws -> R?, load: () throws -> R) throws -> R {
    var wait = LeaseWait(limit: diskCache.configuration.loadWaitLimit)
    while true {
      switch CacheKey.with(key, store.keyLocks.tryLock) {
      case .isHeldHere: return try look() ?? load()
      case .taken(let lock):
        var isLoaded = false
        defer { store.release(lock, hasWritten: isLoaded) }
        if let found = try look() { return found }
        if wait.hasBegun, lock.isMarkedAsFailed { throw Self.failureElsewhere(key) }
        do {
          let value = try load()
          isLoaded = true
          return value
        } catch {
          if !(error is CancellationError) { lock.markAsFailed() }
          throw error
        }
      case .isHeldElsewhere:
        guard let pause = wait.next() else { return try look() ?? load() }
        MonotonicClock.sleep(nanoseconds: pause)
        if let found = try look() { return found }
      }
    }
  }

  nonisolated(nonsending) func leasing<R: Sendable>(
    _ key: String, look: () throws -> R?, load: nonisolated(nonsending) () async throws -> R
  ) async throws -> R {
    var wait = LeaseWait(limit: diskCache.configuration.loadWaitLimit)
    while true {
      switch CacheKey.with(key, store.keyLocks.tryLock) {
      case .isHeldHere:
        if let found = try look() { return found }
        return try await load()
      case .taken(let lock):
        var isLoaded = false
        defer { store.release(lock, hasWritten: isLoaded) }
        if let found = try look() { return found }
        if wait.hasBegun, lock.isMarkedAsFailed { throw Self.failureElsewhere(key) }
        do {
          let value = try await load()
          isLoaded = true
          return value
        } catch {
          if !(error is CancellationError) { lock.markAsFailed() }
          throw error
        }
      case .isHeldElsewhere:
        guard let pause = wait.next() else { return try await load() }
        try await Task.sleep(for: .nanoseconds(pause))
        if let found = try look() { return found }
      }
    }
  }

  private static func failureElsewhere(_ key: String) -> CacheError {
    CacheError(
      .loadFailed,
      "Another process loaded the value of \(quoted(key)), and its load failed. This one waited for it. Try again.")
  }
}

/// The backoff between checks for another process's load.
private struct LeaseWait {
  private static let first: Int64 = 500_000
  private static let longest: Int64 = 20_000_000

  private let end: Int64
  private var pause = first

  var hasBegun: Bool { pause > Self.first }

  init(limit: Duration) { end = MonotonicClock.nanoseconds.addingClamped(limit.clampedNanoseconds) }

  /// Nanoseconds; `nil` at the end of the wait.
  mutating func next() -> Int64? {
    if MonotonicClock.nanoseconds >= end { return nil }
    defer { pause = min(pause * 2, Self.longest) }
    return pause
  }
}
