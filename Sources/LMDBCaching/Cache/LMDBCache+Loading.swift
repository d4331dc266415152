import Platform

extension LMDBCache {
  /// The value under `key`; where there is none, what `load` returns, which is stored.
  ///
  /// It is loaded as ``CacheConfiguration/loadOptions`` say, with another lifetime and cost if these are given: an older
  /// value may be served while it is loaded anew, say.
  ///
  /// **What cannot be read.** An entry of another type, one that is damaged or cannot be unarchived (one that was encrypted
  /// with another key, say), one of a newer format, and one without a required transform count as absent: that is logged, and
  /// what is loaded takes its place. ``value(_:forKey:)`` throws there.
  ///
  /// **What cannot be stored.** What `load` returns is the callers' also when it cannot be archived or is too large, when the
  /// disk is full or fails: that is logged, and ``health`` says so.
  ///
  /// **Single flight.** While one caller loads, others that ask for the key wait and get its value, or its error: threads and
  /// tasks, through any object of the process on the directory. Other processes wait too, and throw `.loadFailed` for its error.
  ///
  /// **Writes of the key.** The waiting callers get the loaded value. It is stored unless the key was written after `load` was
  /// called: a value that was set stays, and a removed one stays away. Later callers do not get the older value. A write of
  /// another process counts when it is committed; its removal of a single key without an entry leaves no trace.
  ///
  /// **Loads that need each other.** A load that asks for its own key throws ``CacheError/Code/recursiveLoad``. Any other circle
  /// ends after ``CacheConfiguration/loadWaitLimit``: a waiting caller then runs its own `load`, and the others wait for that
  /// one. A caller with a ``LoadOptions/timeLimit`` waits for that limit instead, unless it is inside a load.
  ///
  /// Waiting blocks the thread. In async code, use the asynchronous form: `try await`.
  ///
  /// - Parameters:
  ///   - expiresIn: How long the value is fresh; zero or less: it is not stored. `nil` for what the options say.
  ///   - cost: What the entry counts for, 0 or more; `nil` for what the options say.
  ///   - load: Runs on this thread; with a time limit, and for what is loaded in the background, on another one. It has the
  ///     caller's task-local values.
  /// - Throws: what `load` throws, whatever its type; nothing is stored then. `.closed`, `.storageFailed`,
  ///   `.missingTransform`, `.recursiveLoad`, `.loadTimedOut`, and `.invalidArgument` for a negative cost, say.
  // Disfavoured: both forms take a closure that does not suspend, and in a task the other one is the better.
  @_disfavoredOverload @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil,
    load: @escaping @Sendable () throws -> V
  ) throws -> V {
    // A hit costs what a plain read does.
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    // What is not to be stored is not kept as an old value either.
    let isStored = expiresIn.map { $0 > .zero } ?? true
    return try loadedValue(type, key, loadOptions(expiresIn: expiresIn, cost: cost)) { context in
      if !isStored { context.isStored = false }
      return try load()
    }
  }

  /// The same for tasks: while one loads, others that ask for the key wait without holding a thread.
  ///
  /// `load` runs in a task of its own. A caller that is cancelled stops waiting and throws `CancellationError`; when
  /// nobody waits any more, `load` is cancelled too, and what it returns is not stored.
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

  /// The cache's own options, but for what a call names.
  @usableFromInline
  func loadOptions(expiresIn: Duration?, cost: Int?) -> LoadOptions {
    var options = diskCache.configuration.loadOptions
    if let expiresIn { options.lifetime = max(.zero, expiresIn) }
    if let cost { options.cost = cost }
    return options
  }

  // MARK: Running a load

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

  /// From now on every write of its key concerns the load.
  func begin(_ load: Load, _ options: LoadOptions) throws(CacheError) {
    load.expect(try EntryTags.make(options.tags))
    store.journal.lock.withLock { memoryCache.loads.begin(load) }
  }

  func end(_ load: Load) { store.journal.lock.withLock { memoryCache.loads.end(load) } }
}
