import Platform

extension LMDBCache {
  /// The value under `key`; where there is none, what `load` returns, which is stored.
  ///
  /// **Single flight.** While one thread loads, others that ask for the key wait and get its value, or its error.
  ///
  /// **Writes meanwhile.** What `load` returns is given to those who wait for it. It is stored unless the key was
  /// written since `load` was called: a value that somebody set stays, and what was removed stays away. Who asks after
  /// such a write does not get the older value. A write of another process counts when it is committed; its removal of a
  /// single entry that this process does not see either leaves no trace that could count.
  ///
  /// **Loads that need each other.** Where the load that would be waited for waits for the caller, the caller runs its
  /// own `load` at once, and what that returns is not stored: the load that it is part of stores its value. That is
  /// found out for calls within a load, across threads, tasks and caches. Where it cannot be, since a load waits for
  /// work that it handed to another thread, the caller waits for ``CacheConfiguration/loadWaitLimit`` and then runs its
  /// own `load`. A load that needs itself without end throws ``CacheError/Code/recursiveLoad``.
  ///
  /// Waiting blocks the thread; in a task the asynchronous form is used: write `try await`.
  ///
  /// - Throws: as ``value(_:forKey:)``, and what `load` throws, whatever its type; nothing is stored then.
  // Disfavoured: both forms take a closure that does not suspend, and in a task the other one is the better.
  @_disfavoredOverload
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil, load: () throws -> V
  ) throws -> V {
    while true {
      if let value = try value(type, forKey: key) { return value }
      let result = try singleFlight.value(ByteKey(key)) { run in
        begin(run)
        defer { end(run) }
        // The flight before may have ended between the look and the start.
        if run.isStored, let value = try value(type, forKey: key) { return value }
        let basis = LoadBasis(of: key, in: store)
        let value = try load()
        try keep(value, forKey: key, expiresIn: expiresIn, cost: cost, run, basis)
        return value
      }
      if let value = result as? V { return value }
      // Somebody loaded a value of another type: look again, which tells the mismatch.
    }
  }

  /// The same for tasks: while one loads, others that ask for the key wait without holding a thread.
  ///
  /// `load` runs in a task of its own. A caller that is cancelled stops waiting and throws `CancellationError`; when
  /// nobody waits any more, `load` is cancelled too, and what it returns is not stored.
  ///
  /// - Throws: as ``value(_:forKey:)``, what `load` throws, whatever its type, and `CancellationError`.
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    load: @escaping @Sendable () async throws -> V
  ) async throws -> V {
    while true {
      if let value = try value(type, forKey: key) { return value }
      let result = try await singleFlight.value(ByteKey(key)) { [self] run in
        begin(run)
        defer { end(run) }
        if run.isStored, let value = try value(type, forKey: key) { return value }
        let basis = LoadBasis(of: key, in: store)
        let value = try await load()
        try keep(value, forKey: key, expiresIn: expiresIn, cost: cost, run, basis)
        return value
      }
      if let value = result as? V { return value }
    }
  }

  /// From now on the load is told of every write of its key.
  private func begin(_ load: Load) { store.journal.lock.withLock { memoryCache.loads.begin(load) } }

  private func end(_ load: Load) { store.journal.lock.withLock { memoryCache.loads.end(load) } }

  /// Stores what was loaded, unless the key was written since.
  private func keep<V: Codable>(
    _ value: V, forKey key: String, expiresIn: Duration?, cost: Int?, _ load: Load, _ basis: LoadBasis
  ) throws(CacheError) {
    guard load.isStored, basis.isCurrent(key, in: store) else { return }
    let isCancelled = Task.isCancelled
    try diskCache.set(value, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache) {
      !load.isSuperseded && !isCancelled
    }
  }
}
