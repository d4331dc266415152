import Platform

extension LMDBCache {
  /// Returns the value under `key`, or else stores and returns the result of `load`.
  ///
  /// ``CacheConfiguration/loadOptions`` apply, with the given lifetime and cost: an older value may be served during a
  /// reload, for example.
  ///
  /// **Unreadable entries.** An entry of another type or a newer format, a damaged one, one that cannot be decoded
  /// (encrypted with another key, for example) and one without a required transform count as absent: that is logged,
  /// and the loaded value replaces it. ``value(_:forKey:)`` throws there.
  ///
  /// **Failed writes.** The callers get the loaded value even if it cannot be archived, is too large, or the disk is
  /// full or fails: that is logged, and ``health`` reports it.
  ///
  /// **Single flight.** While one caller loads, others that ask for the key wait and get its value or error: threads
  /// and tasks, through any object of the process on the directory. Other processes wait too, and throw `.loadFailed`
  /// for its error.
  ///
  /// **Writes of the key.** The waiting callers get the loaded value. It is stored unless the key was written after
  /// `load` was called: a value that was set stays, and a removed one stays away. Later callers do not get the older
  /// value. A write of another process counts when it is committed; its removal of a single key without an entry leaves
  /// no trace.
  ///
  /// **Loads that need each other.** A load that asks for its own key throws ``CacheError/Code/recursiveLoad``. Any
  /// other circle ends after ``CacheConfiguration/loadWaitLimit``: a waiting caller then runs its own `load`, and the
  /// others wait for that one. A caller with a ``LoadOptions/timeLimit`` waits for that limit instead, unless it is
  /// inside a load.
  ///
  /// Waiting blocks the thread. In async code, call the asynchronous form with `try await`.
  ///
  /// - Parameters:
  ///   - expiresIn: How long the value is fresh; zero or less: it is not stored. `nil` for the option's value.
  ///   - cost: The entry's cost, 0 or more; `nil` for the option's value.
  ///   - load: Runs on this thread; on another one with a time limit and in background loads. It has the caller's
  ///     task-local values.
  /// - Throws: any error of `load`; nothing is stored then. `.closed`, `.storageFailed`, `.missingTransform`,
  ///   `.recursiveLoad`, `.loadTimedOut`, and `.invalidArgument` (for a negative cost, for example).
  // Disfavored: both forms take a closure that does not suspend; in a task the other one is better.
  @_disfavoredOverload @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    load: @escaping @Sendable () throws -> V
  ) throws -> V {
    // A hit costs as much as a plain read.
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    // A value that must not be stored is not kept as a stale value either.
    let isStored = expiresIn.map { $0 > .zero } ?? true
    return try loadedValue(type, key, loadOptions(expiresIn: expiresIn, cost: cost)) { context in
      if !isStored { context.isStored = false }
      return try load()
    }
  }

  /// The async form: waiting for a load holds no thread.
  ///
  /// `load` runs in its own task. A cancelled caller stops waiting and throws `CancellationError`; when the last one
  /// has, `load` is cancelled too, and its result is not stored.
  ///
  /// - Throws: as the other form, and `CancellationError`.
  @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    load: @escaping @Sendable () async throws -> V
  ) async throws -> V {
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    let isStored = expiresIn.map { $0 > .zero } ?? true
    return try await loadedValue(type, key, loadOptions(expiresIn: expiresIn, cost: cost)) { context in
      if !isStored { context.isStored = false }
      return try await load()
    }
  }

  @usableFromInline
  func loadOptions(expiresIn: Duration?, cost: Int?) -> LoadOptions {
    var options = diskCache.configuration.loadOptions
    if let expiresIn { options.lifetime = max(.zero, expiresIn) }
    if let cost { options.cost = cost }
    return options
  }

  // MARK: Running a load

  /// Runs and counts a loading closure, inside the instrument if one is set.
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

  nonisolated(nonsending) func timing<R>(
    _ key: String, _ load: nonisolated(nonsending) () async throws -> R
  ) async throws -> R {
    let start = store.clock.monotonic
    var isFailure = true
    defer { noteLoad(since: start, isFailure) }
    let value =
      if let instrument = diskCache.configuration.loadInstrument {
        try await instrument.load(describe(key), load)
      } else {
        try await load()
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

  /// Registers a load for every later write of its key.
  func begin(_ load: Load, _ options: LoadOptions) throws(CacheError) {
    load.expect(try EntryTags.make(options.tags))
    store.journal.lock.withLock { memoryCache.loads.begin(load) }
  }

  func end(_ load: Load) { store.journal.lock.withLock { memoryCache.loads.end(load) } }
}
