import Logging
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
    var options = configuration.loadOptions
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
      if let instrument = configuration.loadInstrument { try instrument.load(describe(key), load) } else {
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
      if let instrument = configuration.loadInstrument {
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
    store.journal.lock.withLock { memory.loads.begin(load) }
  }

  func end(_ load: Load) { store.journal.lock.withLock { memory.loads.end(load) } }
}

// Storing loaded values.

extension LMDBCache {
  /// Stores a loaded value, unless the key was written since. Failures do not reach the callers, since they have the
  /// value.
  func keep<V: Codable & Sendable>(
    _ value: V?, _ context: LoadContext, _ options: LoadOptions, _ load: Load, _ basis: LoadBasis,
    isCancelled: Bool = false
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
            TypedMemoryValue.make(value, archiveLength: bytes.count), key, header, tags, bytes
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
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    // Readers that do not know absences see an expired entry.
    var header = try store.header(for: key, .bytes, empty, expires: .min, cost: nil)
    header.flags.insert(.absence)
    header.kept = store.expiry(after: lifetime)
    header.tags = tags?.hashes
    try put(nil, key, header, tags, empty) { load.isCurrent(at: 0, concerned) }
  }

  private func noteUnstored(_ key: String, _ error: CacheError) {
    // A closed cache stores nothing; a load inside an update of its value leaves the storing to that.
    if [.closed, .recursiveUpdate].contains(error.code) { return }
    store.noteUnstored(error)
    events.log(
      .error, "loaded value not stored",
      ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
  }

  func noteUnreadable(_ key: String, _ error: CacheError) {
    store.counters.misses.increment()
    events.log(
      .warning, "cache entry cannot be read, and is loaded anew",
      ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
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

// Loads that bypass stored values, because a remote tier may have newer ones and cannot be reached.

extension LMDBCache {
  /// Returns the result of `load` without storing it. One run per key at a time; the time limit and pauses of
  /// ``value(_:forKey:options:load:)`` apply.
  package func freshValue<V: Codable & Sendable>(
    _ type: V.Type, forKey key: String, options: LoadOptions?,
    load: @escaping @Sendable (inout LoadContext) throws -> V
  ) throws -> V {
    let options = options ?? configuration.loadOptions
    try options.validate()
    let patience = patience(options.timeLimit)
    while true {
      let result = try store.flights.value(ByteKey(key), patience) { [self] run -> any Sendable in
        try begin(run, options)
        defer { end(run) }
        var context = LoadContext(unstored: key, options)
        return FreshValue(value: try settling(key, options) { try timing(key) { try load(&context) } })
      }
      // The joined load had another type, or stores its value; it has finished by now.
      if let fresh = result as? FreshValue<V> { return fresh.value }
    }
  }

  package func freshValue<V: Codable & Sendable>(
    _ type: V.Type, forKey key: String, options: LoadOptions?,
    load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    let options = options ?? configuration.loadOptions
    try options.validate()
    let patience = patience(options.timeLimit)
    while true {
      let result = try await store.flights.value(ByteKey(key), patience) { [self] run -> any Sendable in
        try begin(run, options)
        defer { end(run) }
        var context = LoadContext(unstored: key, options)
        return FreshValue(
          value: try await settling(key, options) { try await timing(key) { try await load(&context) } })
      }
      if let fresh = result as? FreshValue<V> { return fresh.value }
    }
  }
}

/// Wraps a value, since optionals lose layers in casts.
private struct FreshValue<V: Sendable>: Sendable {
  let value: V
}

extension LoadContext {
  fileprivate init(unstored key: String, _ options: LoadOptions) {
    self.init(key: key, lifetime: options.lifetime, cost: options.cost, tags: options.tags)
    isStored = false
  }
}

/// The writes of a key by other processes that are known when a load begins.
struct LoadBasis {
  private struct Record {
    let stamp: UInt64
    let tags: EntryTags?
    /// Removals of many are the only trace of a missing entry.
    let removals: RemovalMarks
  }

  private let position: UInt64
  private let record: Record?

  init(of key: String, in store: DiskStore) {
    position = store.foreignPosition
    record = Self.record(key, store)
  }

  var tags: EntryTags? { record?.tags }

  /// Whether no other process is known to have written the key. The removal of a single missing key leaves no trace.
  ///
  /// - Parameter tags: A removal by one of them counts as a write of the key.
  func isCurrent(_ key: String, _ tags: [EntryTags?], in store: DiskStore) -> Bool {
    if store.foreignPosition == position { return true }
    guard let record, let now = Self.record(key, store), now.stamp == record.stamp,
      now.removals.clear == record.removals.clear,
      !CacheKey.with(key, { now.removals.prefixes.includes($0.utf8, since: record.removals.prefixes.last) })
    else { return false }
    let tagged = record.removals.tag.last
    if now.removals.tag.last == tagged { return true }
    // The tags of the older removals are forgotten.
    if now.removals.tag.forgotten > tagged { return false }
    do throws(CacheError) {
      for tags in tags { if let tags, try store.database.isRemoved(tags, writtenAt: tagged) { return false } }
      return true
    } catch {
      return false
    }
  }

  private static func record(_ key: String, _ store: DiskStore) -> Record? {
    do throws(CacheError) {
      let header = try CacheKey.with(key) { (key) throws(CacheError) in try store.header(key) }
      return Record(
        stamp: header?.header.stamp ?? 0, tags: header?.tags, removals: try store.database.removalMarks())
    } catch {
      // Returning the error would reach only this caller, which gets the value anyway.
      return nil
    }
  }
}
