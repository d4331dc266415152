import Foundation
import Logging
import Platform
import Synchronization

extension LMDBCache {
  /// Returns the fresh value under `key`, or else stores and returns the result of `load`.
  ///
  /// The options may serve an older value while it is reloaded, or if the load fails.
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
  ///   - options: How long values serve; `nil` for ``CacheConfiguration/loadOptions``.
  ///   - load: Gets the options, and may change them for this value. Runs in a task of its own, which is not cancelled
  ///     with the caller's, on this thread; on another one with a time limit and in background loads. It has the
  ///     caller's task-local values.
  /// - Throws: any error of `load`, unless an older value can be served; nothing is stored then. `.closed`,
  ///   `.storageFailed`, `.missingTransform`, `.recursiveLoad`, `.loadTimedOut`, and `.invalidArgument` (for a negative
  ///   cost, for example).
  // Disfavored: both forms take a closure that does not suspend; in a task the other one is better.
  @_disfavoredOverload @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) throws -> V
  ) throws -> V {
    // A hit costs as much as a plain read.
    if let found = try valueInMemory(type, forKey: key) { return found }
    return try loaded(key, options, servesAbsence: false, load)!
  }

  /// Returns the fresh value under `key`, or else stores and returns the result of `load`, without blocking a thread.
  ///
  /// `load` runs in its own task. A cancelled caller stops waiting and throws `CancellationError`; when the last one
  /// has, `load` is cancelled too, and its result is not stored. In all else it is like the synchronous form.
  @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    if let found = try valueInMemory(type, forKey: key) { return found }
    return try await loaded(key, options, servesAbsence: false, load)!
  }

  /// Returns the fresh value under `key` or the result of `load`, which may be `nil`.
  ///
  /// ``LoadOptions/absenceLifetime`` remembers an absence. In all else it is like ``value(_:forKey:options:load:)``.
  @_disfavoredOverload
  public func optionalValue<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) throws -> V?
  ) throws -> V? {
    if let found = try valueInMemory(type, forKey: key) { return found }
    return try loaded(key, options, servesAbsence: true, load)
  }

  /// Returns the fresh value under `key` or the result of `load`, which may be `nil`, without blocking a thread.
  public func optionalValue<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) async throws -> V?
  ) async throws -> V? {
    if let found = try valueInMemory(type, forKey: key) { return found }
    return try await loaded(key, options, servesAbsence: true, load)
  }

  @usableFromInline
  func loaded<V: Codable & Sendable>(
    _ key: String, _ options: LoadOptions?, servesAbsence: Bool,
    _ load: @escaping @Sendable (inout LoadContext) throws -> V?
  ) throws -> V? {
    let request = try request(key, options, servesAbsence: servesAbsence, load)
    switch try standing(of: request, isBlocking: true) {
    case .served(let value): return value
    case .unserved(let fallback): return try LoadCaller.wait { try await self.value(for: request, fallback, $0) }
    }
  }

  @usableFromInline
  func loaded<V: Codable & Sendable>(
    _ key: String, _ options: LoadOptions?, servesAbsence: Bool,
    _ load: @escaping @Sendable (inout LoadContext) async throws -> V?
  ) async throws -> V? {
    let request = try request(key, options, servesAbsence: servesAbsence, load)
    switch try standing(of: request, isBlocking: false) {
    case .served(let value): return value
    case .unserved(let fallback): return try await value(for: request, fallback, LoadCaller())
    }
  }

  /// The same for a caller that was found out before, as a remote tier's reads do.
  ///
  /// - Parameter isStored: Whether stored values are served, and the loaded one is stored. `false` while a remote tier
  ///   cannot be reached and may have a newer one.
  package func value<V: Codable & Sendable>(
    _ type: V.Type, forKey key: String, options: LoadOptions?, _ caller: LoadCaller, isStored: Bool,
    load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    var request = try request(
      key, options, servesAbsence: false, load as @Sendable (inout LoadContext) async throws -> V?)
    request.isStored = isStored
    if !isStored { return try await result(of: request, caller)! }
    switch try standing(of: request, isBlocking: caller.executor != nil) {
    case .served(let value): return value!
    case .unserved(let fallback): return try await value(for: request, fallback, caller)!
    }
  }

  private func request<V>(
    _ key: String, _ options: LoadOptions?, servesAbsence: Bool,
    _ load: @escaping @Sendable (inout LoadContext) async throws -> V?
  ) throws(CacheError) -> LoadRequest<V> {
    let options = options ?? configuration.loadOptions
    try options.validate()
    try DiskStore.checkLength(ofKey: key.utf8.count)
    return LoadRequest(key: key, options: options, servesAbsence: servesAbsence, load: load)
  }

  // MARK: Serving

  private func standing<V: Codable & Sendable>(
    of request: LoadRequest<V>, isBlocking: Bool
  ) throws(CacheError) -> LoadStanding<V> {
    try checkOpen()
    do throws(CacheError) {
      return try CacheKey.with(request.key) { (key) throws(CacheError) in
        let token = tier?.token(key)
        guard let record = try reader.keptRecord(key) else {
          store.counters.misses.increment()
          return .unserved(fallback: nil)
        }
        return try standing(of: request, record, key, token, isBlocking: isBlocking)
      }
    } catch {
      guard error.isOfOneEntry else { throw error }
      store.counters.misses.increment()
      events.log(
        .warning, "cache entry cannot be read, and is loaded anew",
        ["directory": "\(store.directory)", "key": "\(quoted(request.key))", "error": "\(error)"])
      return .unserved(fallback: nil)
    }
  }

  private func standing<V: Codable & Sendable>(
    of request: LoadRequest<V>, _ record: StoredRecord<Data>, _ key: CacheKey, _ token: UInt64?, isBlocking: Bool
  ) throws(CacheError) -> LoadStanding<V> {
    let header = record.header
    let now = store.clock.now
    if header.flags.contains(.absence) {
      if request.servesAbsence {
        reader.noteAccess(key, header)
        return .served(nil)
      }
      store.counters.misses.increment()
      return .unserved(fallback: nil)
    }
    let value = try record.payload.withBytes { (bytes) throws(CacheError) in
      try Self.decode(V.self, header.format, bytes, key.string)
    }
    let isPausing = loadPauses.isPausing(ByteKey(key.string), now: store.clock.monotonic)
    if !header.isExpired(at: now) {
      reader.noteAccess(key, header)
      if header.refresh == 0 || header.refresh > now {
        tier?.keep(TypedMemoryValue.make(value, archiveLength: record.payload.count), key, record, token: token)
      } else if !isPausing {
        refresh(request, isBlocking: isBlocking)
      }
      return .served(value)
    }
    func isWithin(_ duration: Duration) -> Bool { now < header.expires.addingClamped(duration.clampedNanoseconds) }
    store.counters.misses.increment()
    if isWithin(request.options.staleWhileRevalidate) {
      if !isPausing { refresh(request, isBlocking: isBlocking) }
    } else if !isWithin(request.options.failSafe) {
      return .unserved(fallback: nil)
    } else if !isPausing {
      return .unserved(fallback: value)
    }
    loadCounters.noteStale()
    return .served(value)
  }

  /// Loads in the background, once at a time.
  private func refresh<V: Codable & Sendable>(_ request: LoadRequest<V>, isBlocking: Bool) {
    let key = ByteKey(request.key)
    guard refreshes.withLock({ $0.insert(key).inserted }) else { return }
    loadCounters.noteRefresh()
    var request = request
    request.options.timeLimit = nil
    let executor: ThreadExecutor? = isBlocking ? .ofNewThread() : nil
    Load.leavingCurrent {
      _ = Task(executorPreference: executor) { [self, request] in
        // The load itself notes failures.
        _ = try? await result(of: request, LoadCaller(background: executor))
        refreshes.withLock { _ = $0.remove(key) }
        executor?.end()
      }
    }
  }

  // MARK: Loading

  private func value<V: Codable & Sendable>(
    for request: LoadRequest<V>, _ fallback: V?, _ caller: LoadCaller
  ) async throws -> V? {
    do { return try await result(of: request, caller) } catch {
      if (error as? CacheError)?.code == .loadTimedOut { noteFailure(error, request.key, request.options) }
      guard let fallback, !(error is CancellationError) else { throw error }
      loadCounters.noteStale()
      return fallback
    }
  }

  /// Leads the load of the key, or joins the one that is under way.
  private func result<V: Codable & Sendable>(of request: LoadRequest<V>, _ caller: LoadCaller) async throws -> V? {
    let key = ByteKey(request.key)
    let patience = SingleFlight.Patience(timeLimit: request.options.timeLimit, waitLimit: configuration.loadWaitLimit)
    while true {
      let result = try await store.flights.value(key, caller, patience) { [self] load -> any Sendable in
        load.expect(try EntryTags.make(request.options.tags))
        noteWrites()
        store.journal.lock.withLock { memory.loads.begin(load) }
        defer { store.journal.lock.withLock { memory.loads.end(load) } }
        do {
          let value =
            if request.isStored { try await leasedValue(request, load, caller) } else {
              try await newValue(request, load, caller)
            }
          loadPauses.noteSuccess(key)
          return LoadedValue(value: value, isStored: request.isStored)
        } catch {
          noteFailure(error, request.key, request.options)
          throw error
        }
      }
      // The joined load may have been of another type, or have found none where one is required.
      guard let result = result as? LoadedValue<V>, result.isStored == request.isStored,
        request.servesAbsence || result.value != nil
      else { continue }
      return result.value
    }
  }

  /// Starts a pause, once for all who wait for the load.
  private func noteFailure(_ error: any Error, _ key: String, _ options: LoadOptions) {
    if error is CancellationError { return }
    let isFirst = loadPauses.noteFailure(ByteKey(key), options, now: store.clock.monotonic)
    // The load continues, and its callers' limits end at different times.
    if !isFirst, (error as? CacheError)?.code == .loadTimedOut { return }
    events.log(
      .notice, "load failed", ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
  }

  /// Loads while no other process loads the key, unless one of them stores the value first.
  ///
  /// Waits up to ``CacheConfiguration/loadWaitLimit``, then loads anyway: the other process may be suspended. All
  /// waiting processes get its failure.
  ///
  /// - Throws: the error of the load, and `.loadFailed`.
  private func leasedValue<V: Codable & Sendable>(
    _ request: LoadRequest<V>, _ load: Load, _ caller: LoadCaller
  ) async throws -> V? {
    var wait = LeaseWait(limit: configuration.loadWaitLimit)
    while true {
      switch CacheKey.with(request.key, store.keyLocks.tryLock) {
      case .isHeldHere:
        if let found = stored(request) { return found }
        return try await newValue(request, load, caller)
      case .taken(let lock):
        var isLoaded = false
        defer { store.release(lock, hasWritten: isLoaded) }
        if let found = stored(request) { return found }
        if wait.hasBegun, lock.isMarkedAsFailed {
          throw CacheError(
            .loadFailed,
            "Another process loaded the value of \(quoted(request.key)), and its load failed. This one waited for it. "
              + "Try again.")
        }
        do {
          let value = try await newValue(request, load, caller)
          isLoaded = true
          return value
        } catch {
          if !(error is CancellationError) { lock.markAsFailed() }
          throw error
        }
      case .isHeldElsewhere:
        guard let pause = wait.next() else { return try await newValue(request, load, caller) }
        try await caller.sleep(nanoseconds: pause)
        if let found = stored(request) { return found }
      }
    }
  }

  /// The result that another load, here or in another process, may have stored; `.some(nil)` if absent. The read as a
  /// whole counts once.
  private func stored<V: Codable & Sendable>(_ request: LoadRequest<V>) -> V?? {
    // Errors were reported before.
    let record = CacheKey.with(request.key) { key in outcome { () throws(CacheError) in try reader.keptRecord(key) } }
    guard case .success(let record?) = record else { return nil }
    let header = record.header
    if header.flags.contains(.absence) { return request.servesAbsence ? .some(nil) : nil }
    let now = store.clock.now
    guard !header.isExpired(at: now), header.refresh == 0 || header.refresh > now else { return nil }
    let value = record.payload.withBytes { bytes in
      outcome { () throws(CacheError) in try Self.decode(V.self, header.format, bytes, request.key) }
    }
    if case .success(let value) = value { return .some(value) }
    return nil
  }

  /// Runs and counts the closure, inside the instrument if one is set, and stores its value.
  private func newValue<V: Codable & Sendable>(
    _ request: LoadRequest<V>, _ load: Load, _ caller: LoadCaller
  ) async throws -> V? {
    let basis = request.isStored ? LoadBasis(of: request.key, in: store) : nil
    var context = LoadContext(request)
    let start = store.clock.monotonic
    let value: V?
    do {
      value =
        if let instrument = configuration.loadInstrument {
          try await instrument.load(key: request.key, directory: store.directory) {
            try await request.load(&context)
          }
        } else {
          try await request.load(&context)
        }
    } catch {
      noteLoad(since: start, isFailure: true)
      throw error
    }
    noteLoad(since: start, isFailure: false)
    guard let basis else { return value }
    let isCancelled = Task.isCancelled
    let keep: @Sendable () -> Void = { [self, context] in
      self.keep(value, context, request.options, load, basis, isCancelled: isCancelled)
    }
    // This waits for the disk.
    if store.durability == .full, caller.executor == nil { await BackgroundQueue.performAside(keep) } else { keep() }
    return value
  }

  private func noteLoad(since start: Int64, isFailure: Bool) {
    let nanoseconds = store.clock.monotonic - start
    loadCounters.note(isFailure: isFailure, nanoseconds: nanoseconds)
    store.metrics.noteLoad(nanoseconds: nanoseconds)
    store.counters.latencies.loads.record(nanoseconds: nanoseconds)
  }

  // MARK: Storing

  /// Stores a loaded value, unless the key was written since. Failures do not reach the callers, since they have the
  /// value.
  private func keep<V: Codable & Sendable>(
    _ value: V?, _ context: LoadContext, _ options: LoadOptions, _ load: Load, _ basis: LoadBasis, isCancelled: Bool
  ) {
    let key = context.key
    guard context.isStored else { return }
    do throws(CacheError) {
      try checkOpen()
      let tags = if let tags = context.inherited.tags { tags } else { try EntryTags.make(context.tags) }
      let concerned = [tags, basis.tags]
      guard basis.isCurrent(key, concerned, in: store) else { return }
      try CacheKey.with(key) { (key) throws(CacheError) in
        guard let value else { return try keepAbsence(key, tags, options, load, concerned) }
        try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
          let inherited = context.inherited
          let lifetime = inherited.expires == nil ? context.lifetime.map(options.shortened) : context.lifetime
          let expires = inherited.expires ?? lifetime.map { store.expiry(after: $0) } ?? 0
          var header = try store.header(for: key, format, bytes, expires: expires, cost: context.cost)
          options.setTimes(of: &header, lifetime: lifetime, now: store.clock.now)
          header.revision = inherited.revision
          header.tags = tags?.hashes
          try put(
            TypedMemoryValue.make(value, archiveLength: bytes.count), key, header, tags, bytes,
          ) { load.isCurrent(at: inherited.revision, concerned) && !isCancelled }
        }
      }
    } catch {
      noteUnstored(key, error)
    }
  }

  /// Records an absence, and drops any older value.
  private func keepAbsence(
    _ key: CacheKey, _ tags: EntryTags?, _ options: LoadOptions, _ load: Load, _ concerned: [EntryTags?]
  ) throws(CacheError) {
    guard let lifetime = options.absenceLifetime else { return }
    // Readers that do not know absences see an expired entry.
    var header = try store.header(for: key, .bytes, .empty, expires: .min, cost: nil)
    header.flags.insert(.absence)
    header.kept = store.expiry(after: lifetime)
    header.tags = tags?.hashes
    try put(nil, key, header, tags, .empty) { load.isCurrent(at: 0, concerned) }
  }

  private func noteUnstored(_ key: String, _ error: CacheError) {
    // A closed cache stores nothing; a load inside an update of its value leaves the storing to that.
    if [.closed, .recursiveUpdate].contains(error.code) { return }
    // While the disk fails, ``health`` says so.
    events.log(
      store.health.isHealthy ? .error : .debug, "loaded value not stored",
      ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
  }
}

/// One call of a function that loads.
struct LoadRequest<V: Codable & Sendable>: Sendable {
  let key: String
  var options: LoadOptions
  /// Whether a remembered absence is an answer.
  let servesAbsence: Bool
  /// Whether the value is stored.
  var isStored = true
  let load: @Sendable (inout LoadContext) async throws -> V?
}

/// The cached state of a key for a read through a loader.
private enum LoadStanding<V: Sendable>: Sendable {
  case served(V?)
  /// To be loaded. The fallback serves if that fails.
  case unserved(fallback: V?)
}

/// The result of a flight.
private struct LoadedValue<V: Sendable>: Sendable {
  let value: V?
  let isStored: Bool
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

extension LoadContext {
  fileprivate init<V>(_ request: LoadRequest<V>) {
    self.init(
      key: request.key, lifetime: request.options.lifetime, cost: request.options.cost, tags: request.options.tags)
    isStored = request.isStored
  }
}

extension LoadOptions {
  func shortened(_ lifetime: Duration) -> Duration {
    jitter == 0 ? lifetime : lifetime.share(1 - jitter * Double.random(in: 0..<1))
  }

  fileprivate func setTimes(of header: inout RecordHeader, lifetime: Duration?, now: Int64) {
    guard header.expires != 0 else { return }
    if keptFor > .zero { header.kept = header.expires.addingClamped(keptFor.clampedNanoseconds) }
    guard let refreshAhead, let lifetime else { return }
    let refresh = now.addingClamped(lifetime.share(refreshAhead).clampedNanoseconds)
    if refresh < header.expires { header.refresh = max(1, refresh) }
  }
}
