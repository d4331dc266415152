import Logging
import Platform

extension LMDBCache {
  /// The value under `key`; where there is none, what `load` returns, which is stored.
  ///
  /// **What cannot be read.** An entry of another type, a damaged one or one of a newer format counts as absent: that is
  /// logged, and what is loaded takes its place. ``value(_:forKey:)`` throws there.
  ///
  /// **What cannot be stored.** What `load` returns is the caller's also when it cannot be archived, or the disk is full or
  /// fails: that is logged, and ``health`` says so if it lasts.
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
  /// - Throws: what `load` throws, whatever its type; nothing is stored then. `.closed`, `.storageFailed`,
  ///   `.missingTransform`, `.recursiveLoad`, and `.invalidArgument` for a negative cost, say.
  // Disfavoured: both forms take a closure that does not suspend, and in a task the other one is the better.
  @_disfavoredOverload
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil, load: () throws -> V
  ) throws -> V {
    while true {
      if let value = try readable(type, key) { return value }
      let result = try singleFlight.value(ByteKey(key)) { run in
        begin(run)
        defer { end(run) }
        func loadAndKeep() throws -> V {
          let basis = LoadBasis(of: key, in: store)
          let value = try timing(key, load)
          try keep(value, forKey: key, expiresIn: expiresIn, cost: cost, run, basis)
          return value
        }
        // The value is that of the load it runs inside.
        if !run.isStored { return try loadAndKeep() }
        return try leasing(key, look: { try readableMeanwhile(type, key) }, load: loadAndKeep)
      }
      if let value = result as? V { return value }
      // Somebody loaded a value of another type. It is not what is asked for here, and is replaced.
    }
  }

  /// The same for tasks: while one loads, others that ask for the key wait without holding a thread.
  ///
  /// `load` runs in a task of its own. A caller that is cancelled stops waiting and throws `CancellationError`; when
  /// nobody waits any more, `load` is cancelled too, and what it returns is not stored.
  ///
  /// - Throws: as the other form, and `CancellationError`.
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    load: @escaping @Sendable () async throws -> V
  ) async throws -> V {
    while true {
      if let value = try readable(type, key) { return value }
      let result = try await singleFlight.value(ByteKey(key)) { [self] run in
        begin(run)
        defer { end(run) }
        func loadAndKeep() async throws -> V {
          let basis = LoadBasis(of: key, in: store)
          let value = try await timing(key, load)
          try keep(value, forKey: key, expiresIn: expiresIn, cost: cost, run, basis)
          return value
        }
        if !run.isStored { return try await loadAndKeep() }
        return try await leasing(key, look: { try readableMeanwhile(type, key) }, load: loadAndKeep)
      }
      if let value = result as? V { return value }
    }
  }

  /// The value under `key`. One that cannot be read counts as absent, and as a miss.
  private func readable<V: Codable & Sendable>(_ type: V.Type, _ key: String) throws(CacheError) -> V? {
    do throws(CacheError) {
      return try value(type, forKey: key)
    } catch {
      guard error.isOfOneEntry else { throw error }
      // What it held could be read, and was no hit.
      if error.code == .typeMismatch || error.code == .decodingFailed { store.counters.hits.increment(by: -1) }
      noteUnreadable(key, error)
      return nil
    }
  }

  func noteUnreadable(_ key: String, _ error: CacheError) {
    store.counters.misses.increment()
    diskCache.events.log(
      .warning, "cache entry cannot be read, and is loaded anew",
      ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
  }

  /// Runs a closure that loads, inside the instrument if there is one, and counts it.
  func timing<R>(_ key: String, _ load: () throws -> R) throws -> R {
    let start = store.clock.monotonic
    var isFailure = true
    defer { noteLoad(since: start, isFailure) }
    let value =
      if let instrument = diskCache.configuration.loadInstrument { try instrument.load(describe(key), load) } else {
        try load()
      }
    isFailure = false
    return value
  }

  private func noteLoad(since start: Int64, _ isFailure: Bool) {
    let nanoseconds = store.clock.monotonic - start
    loadCounters.note(isFailure: isFailure, nanoseconds: nanoseconds)
    store.metrics.noteLoad(nanoseconds: nanoseconds)
    store.counters.latencies.loads.record(nanoseconds: nanoseconds)
  }

  private func describe(_ key: String) -> LoadDescription { LoadDescription(key: key, directory: store.directory) }

  nonisolated(nonsending) func timing<R>(
    _ key: String, _ load: nonisolated(nonsending) () async throws -> R
  ) async throws -> R {
    let start = store.clock.monotonic
    var isFailure = true
    defer { noteLoad(since: start, isFailure) }
    let value: R
    if let instrument = diskCache.configuration.loadInstrument {
      value = try await instrument.load(describe(key), load)
    } else {
      value = try await load()
    }
    isFailure = false
    return value
  }

  /// The same once more when a load has begun: the one before may have ended since. The read as a whole counts once.
  private func readableMeanwhile<V: Codable & Sendable>(_ type: V.Type, _ key: String) throws(CacheError) -> V? {
    defer { store.counters.misses.increment(by: -1) }
    return try readable(type, key)
  }

  /// From now on the load is told of every write of its key.
  func begin(_ load: Load) { store.journal.lock.withLock { memoryCache.loads.begin(load) } }

  func end(_ load: Load) { store.journal.lock.withLock { memoryCache.loads.end(load) } }

  /// Stores what was loaded, unless the key was written since. What fails then is not the callers' concern: they have the
  /// value.
  private func keep<V: Codable>(
    _ value: V, forKey key: String, expiresIn: Duration?, cost: Int?, _ load: Load, _ basis: LoadBasis
  ) throws(CacheError) {
    guard load.isStored, basis.isCurrent(key, in: store) else { return }
    let isCancelled = Task.isCancelled
    do throws(CacheError) {
      try diskCache.set(value, forKey: key, expiresIn: expiresIn, cost: cost, through: memoryCache) {
        !load.isSuperseded && !isCancelled
      }
    } catch {
      // What the caller asked for can never be done.
      if error.code == .invalidArgument { throw error }
      noteUnstored(key, error)
    }
  }

  func noteUnstored(_ key: String, _ error: CacheError) {
    diskCache.events.log(
      .error, "loaded value not stored",
      ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
  }
}
