import Foundation
import Logging
import Platform
import Synchronization

// Reads through a loader that may serve an older value.

extension LMDBCache {
  /// Returns the fresh value under `key`, or else stores and returns the result of `load`.
  ///
  /// Loads are shared, and writes win over loads, as in ``value(_:forKey:expiresIn:cost:load:)``, which also covers
  /// values that cannot be read or stored.
  ///
  /// - Parameters:
  ///   - options: How long values serve; `nil` for ``CacheConfiguration/loadOptions``.
  ///   - load: Gets the options and may change them for this value. Runs on another thread with `timeLimit` and in
  ///     background loads.
  /// - Throws: the error of `load`, unless an older value can be served; `.loadTimedOut`; and as the other form.
  @_disfavoredOverload @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) throws -> V
  ) throws -> V {
    // A hit costs as much as a plain read.
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    return try loadedValue(type, key, options, load)
  }

  @usableFromInline
  func loadedValue<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions?, _ load: @escaping @Sendable (inout LoadContext) throws -> V
  ) throws -> V {
    // A remembered absence is not a value.
    let found = try loaded(type, key, options, servesAbsence: false) { context in try load(&context) }
    guard let found else { preconditionFailure("A load that returns a value returned none.") }
    return found
  }

  /// Like `value(_:forKey:options:load:)`, for a value that may be absent. Absence can be remembered: see
  /// ``LoadOptions/absenceLifetime``.
  @_disfavoredOverload
  public func optionalValue<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) throws -> V?
  ) throws -> V? {
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    return try loaded(type, key, options, servesAbsence: true, load)
  }

  /// The async form: `load` runs in its own task, and waiting holds no thread.
  @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    return try await loadedValue(type, key, options, load)
  }

  @usableFromInline
  func loadedValue<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions?,
    _ load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    let found = try await loaded(type, key, options, servesAbsence: false) { context in try await load(&context) }
    guard let found else { preconditionFailure("A load that returns a value returned none.") }
    return found
  }

  /// The async form for a value that may be absent.
  public func optionalValue<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) async throws -> V?
  ) async throws -> V? {
    if let found = try memoryValue(of: ObjectIdentifier(type), forKey: key) {
      return unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    return try await loaded(type, key, options, servesAbsence: true, load)
  }

  // MARK: The flow

  private func loaded<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions?, servesAbsence: Bool,
    _ load: @escaping @Sendable (inout LoadContext) throws -> V?
  ) throws -> V? {
    let options = options ?? configuration.loadOptions
    try options.validate()
    try DiskStore.checkLength(ofKey: key.utf8.count)
    let standing = try standing(type, key, options, servesAbsence: servesAbsence)
    switch standing {
    case .fresh(let value): return value
    case .due(let value):
      if beginRefresh(key) {
        Load.leavingCurrent {
          LoadExecutor.run { [self] in
            defer { endRefresh(key) }
            // The load itself notes failures.
            _ = try? run(type, key, options, servesAbsence: servesAbsence, patience(), load)
          }
        }
      }
      return value
    case .fallback, .missing:
      let result = Result {
        try run(type, key, options, servesAbsence: servesAbsence, patience(options.timeLimit), load)
      }
      return try served(result, key, options, standing)
    }
  }

  private func loaded<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions?, servesAbsence: Bool,
    _ load: @escaping @Sendable (inout LoadContext) async throws -> V?
  ) async throws -> V? {
    let options = options ?? configuration.loadOptions
    try options.validate()
    try DiskStore.checkLength(ofKey: key.utf8.count)
    let standing = try standing(type, key, options, servesAbsence: servesAbsence)
    switch standing {
    case .fresh(let value): return value
    case .due(let value):
      if beginRefresh(key) {
        Load.leavingCurrent {
          _ = Task { [self] in
            defer { endRefresh(key) }
            // The load itself notes failures.
            _ = try? await run(type, key, options, servesAbsence: servesAbsence, patience(), load)
          }
        }
      }
      return value
    case .fallback, .missing:
      let result: Result<V?, any Error>
      do {
        result = .success(
          try await run(type, key, options, servesAbsence: servesAbsence, patience(options.timeLimit), load))
      } catch {
        result = .failure(error)
      }
      return try served(result, key, options, standing)
    }
  }

  private func served<V>(
    _ result: Result<V?, any Error>, _ key: String, _ options: LoadOptions, _ standing: LoadStanding<V>
  ) throws -> V? {
    // The load continues and has not failed; its callers' limits end at different times.
    if case .failure(let error as CacheError) = result, error.code == .loadTimedOut,
      loadPauses.noteFailure(ByteKey(key), options, now: store.clock.monotonic)
    {
      logFailure(key, error)
    }
    guard case .failure(let error) = result, case .fallback(let value) = standing, !(error is CancellationError) else {
      return try result.get()
    }
    loadCounters.noteStale()
    return value
  }

  /// Runs a load and starts a pause if it fails, once for all who wait for it.
  func settling<R>(_ key: String, _ options: LoadOptions, _ load: () throws -> R) throws -> R {
    do {
      let value = try load()
      loadPauses.noteSuccess(ByteKey(key))
      return value
    } catch {
      noteFailure(error, key, options)
      throw error
    }
  }

  nonisolated(nonsending) func settling<R>(
    _ key: String, _ options: LoadOptions, _ load: nonisolated(nonsending) () async throws -> R
  ) async throws -> R {
    do {
      let value = try await load()
      loadPauses.noteSuccess(ByteKey(key))
      return value
    } catch {
      noteFailure(error, key, options)
      throw error
    }
  }

  private func noteFailure(_ error: any Error, _ key: String, _ options: LoadOptions) {
    if error is CancellationError { return }
    loadPauses.noteFailure(ByteKey(key), options, now: store.clock.monotonic)
    logFailure(key, error)
  }

  private func logFailure(_ key: String, _ error: any Error) {
    events.log(
      .notice, "load failed", ["directory": "\(store.directory)", "key": "\(quoted(key))", "error": "\(error)"])
  }

  private func beginRefresh(_ key: String) -> Bool {
    let isFirst = refreshes.withLock { $0.insert(ByteKey(key)).inserted }
    if isFirst { loadCounters.noteRefresh() }
    return isFirst
  }

  func patience(_ timeLimit: Duration? = nil) -> SingleFlight.Patience {
    SingleFlight.Patience(timeLimit: timeLimit, waitLimit: configuration.loadWaitLimit)
  }

  private func endRefresh(_ key: String) { refreshes.withLock { _ = $0.remove(ByteKey(key)) } }

  // MARK: What there is

  private func standing<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions, servesAbsence: Bool
  ) throws(CacheError) -> LoadStanding<V> {
    try checkOpen()
    do throws(CacheError) {
      return try CacheKey.with(key) { (key) throws(CacheError) in
        let token = tier?.token(key)
        guard let record = try reader.keptRecord(key) else {
          if let value = try valueAlone(type, key.string) { return .fresh(value) }
          store.counters.misses.increment()
          return .missing
        }
        return try standing(record, key, options, token, servesAbsence: servesAbsence)
      }
    } catch {
      guard error.isOfOneEntry else { throw error }
      noteUnreadable(key, error)
      return .missing
    }
  }

  private func standing<V: Codable & Sendable>(
    _ record: StoredRecord<Data>, _ key: CacheKey, _ options: LoadOptions, _ token: UInt64?, servesAbsence: Bool
  ) throws(CacheError) -> LoadStanding<V> {
    let header = record.header
    let now = store.clock.now
    if header.flags.contains(.absence) {
      if servesAbsence {
        reader.noteAccess(key, header)
        return .fresh(nil)
      }
      store.counters.misses.increment()
      return .missing
    }
    let value = try record.payload.withBytes { (bytes) throws(CacheError) in
      try LMDBCache.decode(V.self, header.format, bytes, key.string)
    }
    let isPausing = loadPauses.isPausing(ByteKey(key.string), now: store.clock.monotonic)
    if !header.isExpired(at: now) {
      reader.noteAccess(key, header)
      if header.refresh != 0, header.refresh <= now { return isPausing ? .fresh(value) : .due(value) }
      tier?.keep(
        TypedMemoryValue.make(value, archiveLength: record.payload.count), key, record, token: token)
      return .fresh(value)
    }
    func isWithin(_ duration: Duration) -> Bool { now < header.expires.addingClamped(duration.clampedNanoseconds) }
    store.counters.misses.increment()
    if isWithin(options.staleWhileRevalidate) {
      loadCounters.noteStale()
      return isPausing ? .fresh(value) : .due(value)
    }
    guard isWithin(options.failSafe) else { return .missing }
    if isPausing { loadCounters.noteStale() }
    return isPausing ? .fresh(value) : .fallback(value)
  }

  // MARK: Loading

  private func run<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions, servesAbsence: Bool,
    _ patience: SingleFlight.Patience,
    _ load: @escaping @Sendable (inout LoadContext) throws -> V?
  ) throws -> V? {
    while true {
      let result = try store.flights.value(ByteKey(key), patience) { [self] run -> any Sendable in
        try begin(run, options)
        defer { end(run) }
        func loadAndKeep() throws -> V? {
          let basis = LoadBasis(of: key, in: store)
          var context = LoadContext(
            key: key, lifetime: options.lifetime, cost: options.cost, tags: options.tags)
          let value = try timing(key) { try load(&context) }
          keep(value, context, options, run, basis)
          return value
        }
        return try settling(key, options) {
          try leasing(key, look: { loadedMeanwhile(type, key, servesAbsence: servesAbsence) }, load: loadAndKeep)
        }
      }
      if let value: V? = Self.adopt(result, servesAbsence: servesAbsence) { return value }
    }
  }

  private func run<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions, servesAbsence: Bool,
    _ patience: SingleFlight.Patience,
    _ load: @escaping @Sendable (inout LoadContext) async throws -> V?
  ) async throws -> V? {
    while true {
      let result = try await store.flights.value(ByteKey(key), patience) { [self] run -> any Sendable in
        try begin(run, options)
        defer { end(run) }
        func loadAndKeep() async throws -> V? {
          let basis = LoadBasis(of: key, in: store)
          var context = LoadContext(
            key: key, lifetime: options.lifetime, cost: options.cost, tags: options.tags)
          let value = try await timing(key) { try await load(&context) }
          let isCancelled = Task.isCancelled
          if store.durability == .full {
            // This waits for the disk.
            await BackgroundQueue.performAside { [self, context] in
              keep(value, context, options, run, basis, isCancelled: isCancelled)
            }
          } else {
            keep(value, context, options, run, basis, isCancelled: isCancelled)
          }
          return value
        }
        return try await settling(key, options) {
          try await leasing(key, look: { loadedMeanwhile(type, key, servesAbsence: servesAbsence) }, load: loadAndKeep)
        }
      }
      if let value: V? = Self.adopt(result, servesAbsence: servesAbsence) { return value }
    }
  }

  /// The result of a load that may belong to another caller: `nil` if its type differs, or if a required value is
  /// absent.
  private static func adopt<V>(_ result: any Sendable, servesAbsence: Bool) -> V?? {
    guard let value = result as? V?, servesAbsence || value != nil else { return nil }
    return .some(value)
  }

  /// The result that another load, here or in another process, may have stored; `.some(nil)` if absent. The read as a
  /// whole counts once.
  private func loadedMeanwhile<V: Codable & Sendable>(_ type: V.Type, _ key: String, servesAbsence: Bool) -> V?? {
    // Errors were reported before.
    let record = CacheKey.with(key) { key in outcome { () throws(CacheError) in try reader.keptRecord(key) } }
    guard case .success(let record?) = record else { return nil }
    let header = record.header
    if header.flags.contains(.absence) { return servesAbsence ? .some(nil) : nil }
    let now = store.clock.now
    guard !header.isExpired(at: now), header.refresh == 0 || header.refresh > now else { return nil }
    let value = record.payload.withBytes { bytes in
      outcome { () throws(CacheError) in try LMDBCache.decode(type, header.format, bytes, key) }
    }
    if case .success(let value) = value { return .some(value) }
    return nil
  }
}
